import { ModelTemplate } from './model-template.ts'
import type { ChatMetadata } from './model-template.ts'

export type Templates = Omit<ChatMetadata, 'ggml'>

/** More characters than any template adds to a short conversation */
const maxCharacters = 100_000
const messages = [{ role: 'user', content: 'Hello' }]

/** Renders templates as a loading engine does. True if a short message becomes a text that is too long. */
export function rendersTooLong(templates: Templates): boolean {
  try {
    const template = new ModelTemplate({ ggml: { tokens: [] }, ...templates }, () => {})
    return template.render({ messages, add_generation_prompt: true }).length > maxCharacters
  } catch {
    // Such a template fails the start of its engine, with a reason.
    return false
  }
}
