import { invalid } from '../base/errors.ts'
import type { ChatRequest } from './chat-request.ts'
import type { ModelTemplate } from '../template/model-template.ts'

/** Variables that a request can't set, because the engine does. */
const ownVariables = new Set(['messages', 'tools', 'add_generation_prompt', 'bos_token', 'eos_token'])

/** Reads `chat_template_kwargs` and `reasoning_effort`. Throws a RequestError for unknown variables. */
export function readVariables(
  request: Pick<ChatRequest, 'chat_template_kwargs' | 'reasoning_effort'>,
  template: Pick<ModelTemplate, 'mentions' | 'thoughts' | 'calls'>,
): Record<string, unknown> {
  const given = request.chat_template_kwargs ?? {}
  for (const name of Object.keys(given)) {
    const param = `chat_template_kwargs.${name}`
    if (ownVariables.has(name)) throw invalid(param, `${param} can't be set. Omit it.`)
    if (/^\w{1,64}$/.test(name) && template.mentions(name)) continue
    throw invalid(
      param,
      `The model's chat template has no variable ${name}. Omit it.`,
      'unsupported_parameter',
    )
  }
  return { ...readEffort(request.reasoning_effort, template), ...given }
}

/** How much a model may think, in the variable that its template has. */
function readEffort(
  effort: string | null | undefined,
  template: Pick<ModelTemplate, 'mentions' | 'thoughts'>,
): Record<string, unknown> {
  if (effort == null) return {}
  const thinks = effort !== 'none'
  if (template.mentions('reasoning_effort')) return { reasoning_effort: effort }
  for (const name of ['enable_thinking', 'thinking']) {
    if (template.mentions(name)) return { [name]: thinks }
  }
  // Other efforts tune only, and a model without thoughts has none to leave out.
  if (thinks || template.thoughts === null) return {}
  throw invalid(
    'reasoning_effort',
    'This model always thinks: its chat template has no variable that turns it off. Omit reasoning_effort.',
    'unsupported_parameter',
  )
}
