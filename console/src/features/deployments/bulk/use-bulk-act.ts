import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { callApi } from '../../../api/client.ts'
import type { Deployment } from '../../../contract.ts'
import { usageSummaryQuery } from '../../../domain/billing/queries.ts'
import { toInput } from '../../../domain/deployments/reference.ts'
import { showChange } from '../queries.ts'
import type { Act } from './judge-act.ts'

/** How far an act on one deployment is */
export type Progress = { state: 'waiting' | 'running' | 'done' } | { state: 'failed'; error: unknown }

const path = '/api/v1/model-deployments/{deployment_id}'

const change = (act: Act, { id }: Deployment) =>
  act === 'terminate' ? callApi('DELETE', path, toInput(id)) : callApi('POST', `${path}/${act}`, toInput(id))

/** Does something to several deployments, one after the other, each with its own result. */
export function useBulkAct(act: Act) {
  const queryClient = useQueryClient()
  const [progress, setProgress] = useState<ReadonlyMap<string, Progress>>(new Map())
  const [isRunning, setRunning] = useState(false)
  const run = async (deployments: readonly Deployment[]) => {
    const ids = deployments.map(({ id }) => id)
    const set = (changed: readonly string[], each: Progress) =>
      setProgress((before) => new Map([...before, ...changed.map((id) => [id, each] as const)]))
    setRunning(true)
    set(ids, { state: 'waiting' })
    for (const deployment of deployments) {
      set([deployment.id], { state: 'running' })
      try {
        showChange(queryClient, await change(act, deployment), false)
        set([deployment.id], { state: 'done' })
      } catch (error) {
        set([deployment.id], { state: 'failed', error })
      }
    }
    setRunning(false)
    void queryClient.invalidateQueries({ queryKey: ['deployments'] })
    void queryClient.invalidateQueries({ queryKey: usageSummaryQuery.queryKey })
  }
  return { progress, isRunning, run }
}
