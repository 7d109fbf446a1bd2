"""Language models behind two protocols.

`ports` has the protocols; `openai` implements them for any OpenAI-compatible provider, `embedded` on this machine, with
files that `download` brings, `testing` by a script. `roles` creates models from settings; `menu` lists the choices.
"""
