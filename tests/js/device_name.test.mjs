import assert from 'node:assert/strict';
import { test } from 'node:test';

import { deviceName } from '../../interface/static/page/settings/device_name_model.js';

const EDGE = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0';
const PHONE = 'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Mobile Safari/537.36';

test('a device is named by its browser and its system', () => {
  assert.equal(deviceName('Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'), 'Firefox on Linux');
});

test('a browser that also names others is not taken for them', () => {
  assert.equal(deviceName(EDGE), 'Edge on Windows');
  assert.equal(deviceName(PHONE), 'Chrome on Android');
});

test('a program keeps its own name, cut short', () => {
  assert.equal(deviceName('curl/8.5.0'), 'curl/8.5.0');
  assert.equal(deviceName('x'.repeat(300)).length, 60);
  assert.equal(deviceName(''), '');
});
