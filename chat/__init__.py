"""How a turn is answered: references, context, distillation, prompt, generation. Knows nothing of HTTP."""
