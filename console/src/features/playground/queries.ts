import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useSession } from '../../api/session.ts'
import { modelsQuery } from '../../domain/models/queries.ts'
import { text } from '../../text/index.ts'
import { activeDeploymentsQuery } from './active-deployments-query.ts'
import { listTargets, nameTargets } from './targets.ts'
import type { Target } from './targets.ts'

export const playgroundViews = ['chat', 'embeddings', 'rerank'] as const
export type PlaygroundView = (typeof playgroundViews)[number]

/** The deployments that the person may call, with their LoRAs, by their view, newest first. */
export interface PlaygroundTargets extends Record<PlaygroundView, Target[]> {
  /** Unique names by id. */
  names: ReadonlyMap<string, string>
}

/** The targets, kept up to date; null until they have loaded. */
export function usePlaygroundTargets(): {
  targets: PlaygroundTargets | null
  error: Error | null
  retry: () => void
} {
  const { user } = useSession()
  const all = useQuery(activeDeploymentsQuery)
  const targets = useMemo(() => {
    if (!all.data) return null
    const items = listTargets(all.data.items)
    return {
      chat: items.filter(({ deployment }) => deployment.model_type === 'LLM'),
      embeddings: items.filter(({ deployment }) => deployment.model_type === 'embedding'),
      rerank: items.filter(({ deployment }) => deployment.model_type === 'rerank'),
      names: nameTargets(items, user.id),
    }
  }, [all.data, user.id])
  return { targets, error: targets ? null : all.error, retry: () => void all.refetch() }
}

/** Whether all models of the targets read images, as the catalog says. */
export function useTakesImages(targets: readonly Target[]): boolean {
  const { data: models = [] } = useQuery(modelsQuery)
  const readers = new Set(models.filter(({ tags }) => tags.includes('vision')).map((one) => one.model_name))
  return targets.length > 0 && targets.every(({ deployment }) => readers.has(deployment.model_name))
}

/** The catalog's prompts for a model, or general ones if it has none; empty until the catalog has loaded. */
export function useSuggestedPrompts(modelName: string | undefined): readonly string[] {
  const { data: models, isPending } = useQuery(modelsQuery)
  const suggested = models?.find(({ model_name }) => model_name === modelName)?.suggested_prompts ?? []
  if (isPending) return []
  return suggested.length > 0 ? suggested : text.playground.examples
}
