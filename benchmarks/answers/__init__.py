"""Does it help? Sixty questions over ten generated histories, answered by the same model in four ways (arms).

`material.toml` holds what the histories are made of, `generator` makes them and the questions (`questions.json`, fixed
before anything was tuned), `arms` are the four ways, `product` asks the real product, `grading` compares an answer with
the accepted ones, `records` keeps every answer, `report` makes the table. `python -m benchmarks.answers` runs it.
"""
