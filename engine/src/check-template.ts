// Renders the chat templates on standard input as a loading engine does. See engine/README.md.
import { json } from 'node:stream/consumers'
import { ModelTemplate } from './template/model-template.ts'
import type { ChatMetadata } from './template/model-template.ts'

/** More characters than any template adds to a short conversation */
const maxCharacters = 100_000
const exitTooLong = 1

const templates = (await json(process.stdin)) as Omit<ChatMetadata, 'ggml'>
const messages = [{ role: 'user', content: 'Hello' }]
let length = 0
try {
  const template = new ModelTemplate({ ggml: { tokens: [] }, ...templates }, () => {})
  length = template.render({ messages, add_generation_prompt: true }).length
} catch {
  // Such a template fails the start of its engine, with a reason.
}
if (length > maxCharacters) process.exit(exitTooLong)
