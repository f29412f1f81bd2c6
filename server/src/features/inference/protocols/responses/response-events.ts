import type { TokenUsage } from '../../../metering/token-usage.ts'
import type { ChatCall, ChatPart } from '../chat-answers.ts'
import type { ChatStreamWriter } from '../chat-stream.ts'
import type { CallerEvent, JsonObject } from '../protocol.ts'
import {
  closeResponse,
  createCallId,
  createItemId,
  openResponse,
  toCallItem,
  toEnd,
  toMessageItem,
  toReasoningItem,
  toTextPart,
} from './to-response.ts'
import type { ItemStatus, ResponseFacts } from './to-response.ts'
import { readCustomInput } from './tools-to-chat.ts'
import { InvalidResponse } from '../../../../base/invalid-response.ts'

/** The item that is being streamed, with its text so far. */
type OpenItem = { id: string; text: string } & (
  | { type: 'message' | 'reasoning' }
  | { type: 'function_call'; call: number; callId: string; name: string }
)

/** Longest output, in characters: its last event repeats all of it. */
const maxOutput = 8 * 1024 * 1024

/** Translates a completion's chunks to a response's events. Keeps the output: the last events repeat it. */
export class ResponseEvents implements ChatStreamWriter {
  readonly #facts: ResponseFacts
  readonly #response: JsonObject
  #events: CallerEvent[] = []
  #sequence = 0
  #open: OpenItem | null = null
  readonly #output: JsonObject[] = []
  #length = 0
  #finishReason: string | null = null

  constructor(facts: ResponseFacts) {
    this.#facts = facts
    this.#response = openResponse(facts)
  }

  takeEvents(): readonly CallerEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }

  finish(usage: TokenUsage | null): void {
    if (this.#open === null && this.#output.length === 0)
      this.#openItem({ type: 'message', id: createItemId('msg'), text: '' })
    const { status } = toEnd(this.#finishReason)
    this.#close(status)
    this.#send(`response.${status}`, {
      response: {
        ...this.#response,
        ...closeResponse({ finishReason: this.#finishReason, usage }, this.#output),
      },
    })
  }

  start(): void {
    this.#send('response.created', { response: this.#response })
    this.#send('response.in_progress', { response: this.#response })
  }

  add({ text, reasoning, calls, finishReason }: ChatPart): void {
    if (reasoning !== '') this.#addText('reasoning', 'rs', reasoning)
    if (text !== '') this.#addText('message', 'msg', text)
    for (const call of calls) this.#addCall(call)
    this.#finishReason = finishReason ?? this.#finishReason
  }

  #addText(type: 'message' | 'reasoning', prefix: string, delta: string): void {
    if (this.#open?.type !== type) this.#openItem({ type, id: createItemId(prefix), text: '' })
    const name = type === 'message' ? 'output_text' : 'reasoning_text'
    this.#append(delta)
    this.#sendOfItem(`response.${name}.delta`, {
      content_index: 0,
      delta,
      ...(type === 'message' ? { logprobs: [] } : {}),
    })
  }

  #addCall({ index, id, name, arguments: delta }: ChatCall): void {
    const open = this.#open
    if (open?.type !== 'function_call' || open.call !== index) {
      if (name === '') throw new Error('the engine continued a call that has ended')
      this.#openItem({
        type: 'function_call',
        id: createCallId(name, this.#facts),
        text: '',
        call: index,
        callId: id,
        name,
      })
    }
    if (delta === '') return
    this.#append(delta)
    // The input of a custom tool is complete in the event that ends it.
    if (this.#isCustom(this.#open)) return
    this.#sendOfItem('response.function_call_arguments.delta', { delta })
  }

  #append(text: string): void {
    this.#length += text.length
    if (this.#length > maxOutput) throw new InvalidResponse('an answer that is too long')
    this.#open!.text += text
  }

  #openItem(item: OpenItem): void {
    this.#close('completed')
    this.#open = item
    this.#send('response.output_item.added', {
      output_index: this.#output.length,
      item: this.#writeItem(item, 'in_progress'),
    })
    if (item.type === 'function_call') return
    this.#sendOfItem('response.content_part.added', { content_index: 0, part: writePart(item, '') })
  }

  #isCustom(item: OpenItem | null): boolean {
    return item?.type === 'function_call' && this.#facts.functions.get(item.name)?.isCustom === true
  }

  /** Ends the open item with the events that repeat its text. */
  #close(status: ItemStatus): void {
    const item = this.#open
    if (item === null) return
    const { text } = item
    if (this.#isCustom(item)) {
      const input = readCustomInput(text)
      if (input !== '') this.#sendOfItem('response.custom_tool_call_input.delta', { delta: input })
      this.#sendOfItem('response.custom_tool_call_input.done', { input })
    } else if (item.type === 'function_call') {
      const called = this.#facts.functions.get(item.name)?.name ?? item.name
      this.#sendOfItem('response.function_call_arguments.done', { arguments: text, name: called })
    } else {
      const name = item.type === 'message' ? 'output_text' : 'reasoning_text'
      const more = item.type === 'message' ? { logprobs: [] } : {}
      this.#sendOfItem(`response.${name}.done`, { content_index: 0, text, ...more })
      this.#sendOfItem('response.content_part.done', { content_index: 0, part: writePart(item, text) })
    }
    const written = this.#writeItem(item, status)
    this.#send('response.output_item.done', { output_index: this.#output.length, item: written })
    this.#output.push(written)
    this.#open = null
  }

  #writeItem(item: OpenItem, status: ItemStatus): JsonObject {
    const { id } = item
    const text = status === 'in_progress' ? null : item.text
    if (item.type === 'function_call') {
      const { callId, name } = item
      return toCallItem({ id, callId, name, arguments: text ?? '' }, this.#facts, status)
    }
    return item.type === 'message' ? toMessageItem(id, text, status) : toReasoningItem(id, text, status)
  }

  fail(message: string): void {
    const error = { code: 'server_error', message }
    this.#send('response.failed', {
      response: { ...this.#response, status: 'failed', error, output: this.#output },
    })
  }

  #sendOfItem(name: string, data: JsonObject): void {
    this.#send(name, { item_id: this.#open!.id, output_index: this.#output.length, ...data })
  }

  #send(name: string, data: JsonObject): void {
    this.#events.push({ name, data: { type: name, sequence_number: this.#sequence, ...data } })
    this.#sequence += 1
  }
}

function writePart({ type }: OpenItem, text: string): JsonObject {
  return type === 'message' ? toTextPart(text) : { type: 'reasoning_text', text }
}
