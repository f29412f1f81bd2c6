import { isDeepStrictEqual } from 'node:util'
import { invalidField } from '../../base/errors.ts'
import type { EngineOptions, ModelVariant } from '../../ports/model-variant.ts'
import type { OptionRule, RuntimeEngine } from '../../ports/runtime-engine.ts'
import { listEnginesFor } from './engine-choice.ts'

type Engine = Pick<RuntimeEngine, 'title' | 'options'>

/** Throws a 422 if no engine for a variant takes these options of a deployment. */
export function requireEngineOptions(
  variant: Pick<ModelVariant, 'format'>,
  engines: readonly RuntimeEngine[],
  options: EngineOptions,
): void {
  const [obstacle = findOptionObstacle(undefined, options), ...others] = listEnginesFor(variant, engines).map(
    (engine) => findOptionObstacle(engine, options),
  )
  if (obstacle !== null && !others.includes(null)) throw invalidField('engine_options', obstacle, 'custom')
}

/** Why an engine doesn't take these options, as a sentence; null if it does. */
export function findOptionObstacle(engine: Engine | undefined, options: EngineOptions): string | null {
  if (isDeepStrictEqual(options, {})) return null
  const { title = 'The engine', options: rules } = engine ?? {}
  if (rules == null) return `${title} takes no options.`
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(rules, name)) {
      const known = Object.keys(rules).join(', ')
      return `\`${name}\` of ${title} can’t be set. A deployment can set: ${known}.`
    }
    const expected = findExpected(rules[name]!, value)
    if (expected !== null) return `\`${name}\` must be ${expected}.`
  }
  return null
}

/** What a rule expects instead of a value; null if it allows it. */
function findExpected(rule: OptionRule, value: EngineOptions[string]): string | null {
  switch (rule.takes) {
    case 'switch':
    case 'flag':
      return typeof value === 'boolean' ? null : 'true or false'
    case 'integer':
    case 'number': {
      const { from, to } = rule
      const isKind = rule.takes === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value)
      const noun = rule.takes === 'integer' ? 'a whole number' : 'a number'
      return isKind && Number(value) >= from && Number(value) <= to ? null : `${noun} from ${from} to ${to}`
    }
    case 'words':
      return typeof value === 'string' && rule.words.includes(value)
        ? null
        : `one of ${rule.words.join(', ')}`
    case 'name':
      return typeof value === 'string' && /^[A-Za-z0-9][\w-]{0,63}$/.test(value)
        ? null
        : 'a name of letters, digits, _ and -'
    case 'json':
      return allowsJson(rule.keys, value) ? null : describeJson(rule.keys)
  }
}

/** Kubernetes replaces `$(NAME)` with variables of the pod, some of them secret. */
const expandable = /\$\(/

function allowsJson(keys: readonly string[] | null, value: EngineOptions[string]): boolean {
  if (typeof value !== 'string' || expandable.test(value)) return false
  const parsed = parseObject(value)
  if (parsed === null) return false
  return Object.entries(parsed).every(
    ([key, member]) =>
      (keys === null || keys.includes(key)) &&
      (member === null || typeof member !== 'object') &&
      !expandable.test(String(member)),
  )
}

function describeJson(keys: readonly string[] | null): string {
  const members = keys === null ? 'texts, numbers, true or false as values' : `only ${keys.join(', ')}`
  return `the text of a JSON object with ${members}`
}

function parseObject(text: string): object | null {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && !Array.isArray(parsed) ? parsed : null
  } catch {
    return null
  }
}
