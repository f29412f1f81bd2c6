import type { TokenUsage } from '../../../metering/token-usage.ts'
import type { ChatCall, ChatPart } from '../chat-answers.ts'
import type { ChatStreamWriter } from '../chat-stream.ts'
import type { CallerEvent, JsonObject } from '../protocol.ts'
import { toAnthropicUsage } from './anthropic.ts'
import { toMessageHead, toStop } from './to-message.ts'
import type { MessageFacts } from './to-message.ts'

/** The block that is being streamed: `tool_use` with the index of the call in the chat. */
type OpenBlock = { type: 'text' | 'thinking' } | { type: 'tool_use'; call: number }

/** Translates a completion's chunks to a message's events. Keeps the open block and counts, but no text. */
export class MessageEvents implements ChatStreamWriter {
  readonly #facts: MessageFacts
  #events: CallerEvent[] = []
  #open: OpenBlock | null = null
  /** Position of the open block, or of the next one */
  #index = 0
  #callsTools = false
  #end: Pick<ChatPart, 'finishReason' | 'stopText'> = { finishReason: null, stopText: null }

  constructor(facts: MessageFacts) {
    this.#facts = facts
  }

  takeEvents(): readonly CallerEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }

  finish(usage: TokenUsage | null): void {
    this.#close()
    const delta = toStop(this.#end, this.#callsTools)
    this.#send('message_delta', { delta, usage: toAnthropicUsage(usage) })
    this.#send('message_stop', {})
  }

  start(usage: TokenUsage | null): void {
    const message = {
      ...toMessageHead(this.#facts.model),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: toAnthropicUsage(usage === null ? null : { ...usage, outputTokens: 0 }),
    }
    this.#send('message_start', { message })
  }

  add({ text, reasoning, calls, finishReason, stopText }: ChatPart): void {
    if (reasoning !== '' && this.#facts.wantsThoughts) {
      this.#openBlock({ type: 'thinking' }, { type: 'thinking', thinking: '', signature: '' })
      this.#sendDelta({ type: 'thinking_delta', thinking: reasoning })
    }
    if (text !== '') {
      this.#openBlock({ type: 'text' }, { type: 'text', text: '' })
      this.#sendDelta({ type: 'text_delta', text })
    }
    for (const call of calls) this.#addCall(call)
    if (finishReason !== null) this.#end = { finishReason, stopText }
  }

  #addCall(call: ChatCall): void {
    const { index, id, name, arguments: json } = call
    this.#callsTools = true
    this.#openBlock({ type: 'tool_use', call: index }, { type: 'tool_use', id, name, input: {} })
    if (json !== '') this.#sendDelta({ type: 'input_json_delta', partial_json: json })
  }

  /** Opens a block, unless the open one continues. */
  #openBlock(block: OpenBlock, content: JsonObject): void {
    const open = this.#open
    if (open !== null && open.type === block.type) {
      if (open.type !== 'tool_use' || block.type !== 'tool_use' || open.call === block.call) return
    }
    if (content['type'] === 'tool_use' && content['name'] === '') {
      throw new Error('the engine continued a call that has ended')
    }
    this.#close()
    this.#open = block
    this.#send('content_block_start', { index: this.#index, content_block: content })
  }

  #close(): void {
    if (this.#open === null) return
    if (this.#open.type === 'thinking') this.#sendDelta({ type: 'signature_delta', signature: '' })
    this.#send('content_block_stop', { index: this.#index })
    this.#open = null
    this.#index += 1
  }

  fail(message: string): void {
    this.#send('error', { error: { type: 'api_error', message } })
  }

  #sendDelta(delta: JsonObject): void {
    this.#send('content_block_delta', { index: this.#index, delta })
  }

  #send(name: string, data: JsonObject): void {
    this.#events.push({ name, data: { type: name, ...data } })
  }
}
