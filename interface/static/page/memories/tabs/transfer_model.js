/** An export in portions that a server takes at once: each holds all that its rows refer to. */

const MOST_BYTES = 2_000_000;
/** Tables that others refer to, by the key of a row. */
const THINGS = { entities: 'entity_id', tags: 'tag_id', contexts: 'context_id' };
/** What ties a claim to one of them. */
const TIES = { claim_tags: 'tags', claim_entities: 'entities', context_claims: 'contexts' };

const sizeOf = (value) => new TextEncoder().encode(JSON.stringify(value)).length;
const rowsOf = (data, table) => (Array.isArray(data[table]) ? data[table] : []);
const byKey = (rows, key) => new Map(rows.map((row) => [row[key], row]));

function grouped(rows, key) {
  const groups = new Map();
  for (const row of rows) {
    if (!groups.has(row[key])) groups.set(row[key], []);
    groups.get(row[key]).push(row);
  }
  return groups;
}

/** Units in runs, none of which is larger than `most` unless a unit is. */
function runs(units, most) {
  const all = [];
  let size = Infinity;
  for (const unit of units) {
    const more = sizeOf(unit);
    if (size + more > most) {
      all.push([]);
      size = 0;
    }
    all.at(-1).push(unit);
    size += more;
  }
  return all;
}

/** Several units as one, each row once. */
function joined(units) {
  const tables = {};
  for (const unit of units) {
    for (const [table, rows] of Object.entries(unit)) {
      tables[table] ??= new Set();
      for (const row of rows) tables[table].add(row);
    }
  }
  return Object.fromEntries(Object.entries(tables).map(([table, rows]) => [table, [...rows]]));
}

/** The former names that lead to a thing. */
const aliasesOf = (data) => {
  const groups = grouped(rowsOf(data, 'aliases'), 'thing_id');
  return (id) => (groups.has(id) ? { aliases: groups.get(id) } : {});
};

function claimUnits(data) {
  const aliases = aliasesOf(data);
  const things = Object.fromEntries(Object.entries(THINGS).map(([table, key]) => [table, byKey(rowsOf(data, table), key)]));
  const ties = Object.keys(TIES).map((table) => [table, grouped(rowsOf(data, table), 'claim_id')]);
  return rowsOf(data, 'claims').map((claim) => {
    const unit = { claims: [claim], ...aliases(claim.claim_id) };
    for (const [table, groups] of ties) {
      const own = groups.get(claim.claim_id);
      if (!own) continue;
      const thing = TIES[table];
      unit[table] = own;
      unit[thing] = [...(unit[thing] ?? []), ...own.map((tie) => things[thing].get(tie[THINGS[thing]])).filter(Boolean)];
    }
    return unit;
  });
}

/** Links and conflicts come when all claims are there, with those that they are between. */
function relationUnits(data) {
  const claims = byKey(rowsOf(data, 'claims'), 'claim_id');
  const members = grouped(rowsOf(data, 'conflict_set_members'), 'conflict_set_id');
  const present = (ids) => ids.map((id) => claims.get(id)).filter(Boolean);
  const links = rowsOf(data, 'claim_links').map((link) => ({ claims: present([link.from_claim_id, link.to_claim_id]), claim_links: [link] }));
  const conflicts = rowsOf(data, 'conflict_sets').map((set) => {
    const own = members.get(set.conflict_set_id) ?? [];
    return { claims: present(own.map(({ claim_id: id }) => id)), conflict_sets: [set], conflict_set_members: own };
  });
  return [...links, ...conflicts];
}

/** @param {object} payload an export @returns {number} how many rows it has */
export function rowCount({ data = {} }) {
  return Object.values(data).reduce((sum, rows) => sum + (Array.isArray(rows) ? rows.length : 0), 0);
}

/**
 * @param {object} payload an export
 * @param {number} [most] bytes of a portion
 * @returns {object[]} exports, to be imported one after the other; the payload itself where it is small enough, or none of ours
 */
export function portionsOf(payload, most = MOST_BYTES) {
  const { data } = payload;
  if (!data || typeof data !== 'object' || sizeOf(payload) <= most) return [payload];
  const aliases = aliasesOf(data);
  const first = ['catalogs', ...Object.keys(THINGS), 'notes'].flatMap((table) => rowsOf(data, table).map((row) => ({ [table]: [row], ...aliases(row[THINGS[table]]) })));
  // Things go in order, and not apart: what is below another finds it.
  const units = [runs(first, most), runs(claimUnits(data), most), runs(relationUnits(data), most)].flat();
  return units.map((run) => ({ ...payload, data: joined(run) }));
}
