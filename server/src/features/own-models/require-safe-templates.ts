import { ApplicationError } from '../../base/errors.ts'
import type { ModelRuntime } from '../../ports/model-runtime.ts'
import type { RepositoryVariant } from './repository-reader.ts'

/** Throws `no_runnable_weights` for chat templates that would take an engine's time or memory. */
export async function requireSafeTemplates(
  runtime: Pick<ModelRuntime, 'checkChatTemplate'>,
  variants: readonly Pick<RepositoryVariant, 'format' | 'chatTemplate' | 'toolTemplate'>[],
): Promise<void> {
  const checked = new Set<string>()
  for (const { format, chatTemplate, toolTemplate } of variants) {
    const key = JSON.stringify([format, chatTemplate, toolTemplate])
    if (chatTemplate === null || checked.has(key)) continue
    checked.add(key)
    const obstacle = (await runtime.checkChatTemplate?.({ format, chatTemplate, toolTemplate })) ?? null
    if (obstacle === null) continue
    const reason = `${obstacle}.`
    throw new ApplicationError('no_runnable_weights', reason, { facts: { reasons: [reason] } })
  }
}
