"""Search: what a person wrote, found by words, by patterns of operators, and by meaning.

`questions` answers a query in a person's own words, `query` reads operators, `meaning` keeps the vectors of messages,
`vectors` compares them; SQL of one engine lies in the module of that engine (`sqlite`).
"""
