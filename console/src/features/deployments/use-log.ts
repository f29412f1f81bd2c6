import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useReducer } from 'react'
import type { Deployment } from '../../contract.ts'
import { changeLog, initialLog } from './log-lines.ts'
import { toInput } from '../../domain/deployments/reference.ts'
import { logsQuery } from './queries.ts'
import { isEnding } from '../../domain/deployments/status.ts'
import { useEventStream } from '../../api/use-event-stream.ts'

/** The log of a deployment's engine: the server's history, then each new line until the engine exits. */
export function useLog(deployment: Deployment) {
  const { id } = deployment
  const reference = toInput(id)
  const live = deployment.status !== 'failed' && !isEnding(deployment)
  const [state, change] = useReducer(changeLog, initialLog)
  const queryClient = useQueryClient()
  const loadHistory = useCallback(
    () =>
      queryClient.fetchQuery(logsQuery(id)).then(
        ({ items }) => change({ type: 'history', lines: items }),
        (error: unknown) => change({ type: 'failed', error }),
      ),
    [queryClient, id],
  )

  useEffect(() => {
    if (!live) void loadHistory()
  }, [live, loadHistory])
  useEventStream('/api/v1/model-deployments/{deployment_id}/logs', {
    input: { ...reference, query: { ...reference.query, tail: 0 } },
    event: 'line',
    enabled: live,
    sources: deployment.instances.map((instance) => instance.id).join(),
    onOpen: () => {
      change({ type: 'connected' })
      void loadHistory()
    },
    onLost: () => change({ type: 'disconnected' }),
    onItem: (line) => change({ type: 'line', line }),
  })

  const { log, isLoading, error, disconnected } = state
  return {
    lines: log.lines,
    isLoading,
    error: log.lines.length === 0 ? error : null,
    live,
    disconnected: live && disconnected,
    retry: () => void loadHistory(),
  }
}
