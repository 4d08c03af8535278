"""SQL92 filters over properties: grammar, values, expressions. Pure; loads lark when the first one is read."""
