import { retryLoad } from '../../routing/retry-load.ts'
import type * as Asking from './asking.ts'
import { conversation, emptyConversation } from './conversation.ts'

let asking: typeof Asking | undefined

/** Loads the code that asks models, which the first view does without. */
export const loadAsking = retryLoad(async () => (asking ??= await import('./asking.ts')))

/** Removes everything, for another person or organization. */
export function clearConversation() {
  asking?.stopAllAnswers()
  conversation.set(() => emptyConversation)
}
