// Checks openapi.json with Spectral's rules for OpenAPI, warnings included, after Redocly's linter.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import spectral from '@stoplight/spectral-core'
import type { RulesetDefinition } from '@stoplight/spectral-core'
import rulesets from '@stoplight/spectral-rulesets'

const file = resolve(import.meta.dirname, '../openapi.json')
const linter = new spectral.Spectral()
linter.setRuleset({ extends: [rulesets.oas as RulesetDefinition], rules: {} })
const problems = await linter.run(JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>)
for (const { path, code, message } of problems) console.error(`${path.join('.')}: ${message} (${code})`)
if (problems.length > 0) process.exitCode = 1
else console.log('Spectral: openapi.json is valid.')
