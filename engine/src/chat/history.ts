import { invalid } from '../base/errors.ts'
import { isTooDeep } from '../base/json-depth.ts'
import type { ChatMessage } from './chat-request.ts'
import { toThoughts } from '../template/model-template.ts'
import type { ModelTemplate } from '../template/model-template.ts'

/** A call in a message for a template. */
interface TemplateCall {
  id: string
  type: 'function'
  function: { name: string; arguments: unknown }
}

/** A message for a template, in the form that transformers gives to templates. */
export interface TemplateMessage {
  role: string
  content: string
  tool_calls?: TemplateCall[]
  tool_call_id?: string
  name?: string
  reasoning_content?: string
}

/**
 * Makes a template's messages: texts unchanged, no empty answers. A sentence replaces what is no text, so
 * that a conversation can go on; in the last message a RequestError refuses it, unless a tool sent it.
 */
export function toTemplateMessages(
  messages: readonly ChatMessage[],
  template: Pick<ModelTemplate, 'mentions' | 'toArguments'>,
): TemplateMessage[] {
  const names = new Map<string, string>()
  return messages.flatMap((message, index): TemplateMessage[] => {
    const param = `messages.${index}`
    const isNew = index === messages.length - 1 && message.role !== 'tool'
    const content = textOf(message, param, isNew)
    switch (message.role) {
      case 'developer':
        return [{ role: template.mentions('developer') ? 'developer' : 'system', content }]
      case 'tool': {
        const name = names.get(message.tool_call_id)
        if (name === undefined) {
          throw invalid(
            `${param}.tool_call_id`,
            'A tool message must refer to a tool call in an earlier message.',
          )
        }
        return [{ role: 'tool', content, tool_call_id: message.tool_call_id, name }]
      }
      case 'assistant': {
        const calls = (message.tool_calls ?? []).map(({ id, function: called }, position): TemplateCall => {
          const path = `${param}.tool_calls.${position}.function.arguments`
          checkArguments(called.arguments, path)
          names.set(id, called.name)
          const given = template.toArguments(called.arguments.trim() === '' ? '{}' : called.arguments)
          return { id, type: 'function', function: { name: called.name, arguments: given } }
        })
        const thought = message.reasoning_content ?? message.reasoning ?? ''
        if (content === '' && calls.length === 0 && thought === '') return []
        return [
          {
            role: 'assistant',
            content,
            ...(thought === '' ? {} : toThoughts(thought)),
            ...(calls.length === 0 ? {} : { tool_calls: calls }),
          },
        ]
      }
      default:
        return [{ role: message.role, content }]
    }
  })
}

function checkArguments(text: string, path: string): void {
  if (text.trim() === '') return
  try {
    if (!isTooDeep(JSON.parse(text))) return
  } catch {
    // The same answer as for JSON that is too deep
  }
  throw invalid(path, `${path}: must be JSON.`)
}

function textOf(message: ChatMessage, param: string, isNew: boolean): string {
  const content = message.content ?? ''
  if (typeof content === 'string') return content
  return content
    .map((part, index) => {
      if (part.type === 'text' && typeof part.text === 'string') return part.text
      if (part.type === 'refusal' && typeof part.refusal === 'string') return part.refusal
      const kind = part.type.slice(0, 64)
      if (!isNew) return `[a part of the type "${kind}" that this model can't read]`
      throw invalid(
        `${param}.content.${index}`,
        `${param}.content.${index} has the type "${kind}", but this model accepts text only.`,
        'unsupported_content',
      )
    })
    .join('')
}

/**
 * The messages for a template that refuses some orders of roles: joins neighbors of one role, and with
 * `hasSystem` false the system's text begins the first message of the user.
 */
export function adaptRoles(messages: readonly TemplateMessage[], hasSystem: boolean): TemplateMessage[] {
  const adapted: TemplateMessage[] = []
  let system = ''
  for (const message of messages) {
    const last = adapted.at(-1)
    if (message.role === 'system' && (!hasSystem || adapted.length > 0)) {
      if (hasSystem && adapted[0]!.role === 'system') adapted[0] = join(adapted[0]!, message)
      else system = system === '' ? message.content : `${system}\n\n${message.content}`
    } else if (last?.role === message.role && message.role !== 'tool' && last.tool_calls === undefined) {
      adapted[adapted.length - 1] = join(last, message)
    } else adapted.push(message)
  }
  if (system === '') return adapted
  if (hasSystem) return [{ role: 'system', content: system }, ...adapted]
  const at = adapted.findIndex(({ role }) => role === 'user')
  if (at < 0) return [{ role: 'user', content: system }, ...adapted]
  return adapted.with(at, { ...adapted[at]!, content: `${system}\n\n${adapted[at]!.content}` })
}

function join(one: TemplateMessage, other: TemplateMessage): TemplateMessage {
  const content = [one.content, other.content].filter((text) => text !== '').join('\n\n')
  return { ...one, ...other, content }
}
