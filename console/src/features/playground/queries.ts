import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useSession } from '../../api/session.ts'
import type { Deployment } from '../../contract.ts'
import { modelsQuery } from '../../domain/models/queries.ts'
import { text } from '../../text/index.ts'
import { activeDeploymentsQuery } from './active-deployments-query.ts'
import { nameDeployments } from './deployment-names.ts'

/** The deployments that the person may call, by type, newest first. */
export interface PlaygroundDeployments {
  chat: Deployment[]
  embedding: Deployment[]
  /** Unique names by deployment id. */
  names: ReadonlyMap<string, string>
}

/** The deployments, kept up to date; null until they have loaded. */
export function usePlaygroundDeployments(): {
  deployments: PlaygroundDeployments | null
  error: Error | null
  retry: () => void
} {
  const { user } = useSession()
  const all = useQuery(activeDeploymentsQuery)
  const deployments = useMemo(() => {
    if (!all.data) return null
    const { items } = all.data
    return {
      chat: items.filter(({ model_type }) => model_type === 'LLM'),
      embedding: items.filter(({ model_type }) => model_type === 'embedding'),
      names: nameDeployments(items, user.id),
    }
  }, [all.data, user.id])
  return { deployments, error: deployments ? null : all.error, retry: () => void all.refetch() }
}

/** The catalog's prompts for a model, or general ones if it has none; empty until the catalog has loaded. */
export function useSuggestedPrompts(modelName: string | undefined): readonly string[] {
  const { data: models, isPending } = useQuery(modelsQuery)
  const suggested = models?.find(({ model_name }) => model_name === modelName)?.suggested_prompts ?? []
  if (isPending) return []
  return suggested.length > 0 ? suggested : text.playground.examples
}
