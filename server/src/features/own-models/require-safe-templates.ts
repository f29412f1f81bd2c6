import { ApplicationError } from '../../base/errors.ts'
import type { ModelRuntimes } from '../../ports/model-runtime.ts'
import type { RepositoryVariant } from './repository-reader.ts'

/** Throws `no_runnable_weights` for chat templates that would take an engine's time or memory. */
export async function requireSafeTemplates(
  runtimes: Pick<ModelRuntimes, 'checkChatTemplate'>,
  variants: readonly Pick<RepositoryVariant, 'format' | 'chatTemplate' | 'toolTemplate'>[],
): Promise<void> {
  const checked = new Set<string>()
  for (const { format, chatTemplate, toolTemplate } of variants) {
    const key = JSON.stringify([format, chatTemplate, toolTemplate])
    if (chatTemplate === null || checked.has(key)) continue
    checked.add(key)
    const obstacle = await runtimes.checkChatTemplate({ format, chatTemplate, toolTemplate })
    if (obstacle === null) continue
    const reason = `${obstacle}.`
    throw new ApplicationError('no_runnable_weights', reason, { facts: { reasons: [reason] } })
  }
}
