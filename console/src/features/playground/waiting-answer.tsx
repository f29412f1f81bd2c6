import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Spinner } from '../../components/spinner.tsx'
import { useNow } from '../../components/use-now.ts'
import { formatDuration } from '../../format.ts'
import { text } from '../../text/index.ts'
import { activeDeploymentsQuery } from './active-deployments-query.ts'
import { LastStart } from './deployment-notices.tsx'

const pollInterval = 1_000

/** What an answer waits for before its first token: its deployment, until it is awake, then the engine. */
export function WaitingAnswer({ deploymentId }: { deploymentId: string }) {
  const { data } = useQuery({
    ...activeDeploymentsQuery,
    refetchInterval: ({ state }) => {
      const status = state.data?.items.find(({ id }) => id === deploymentId)?.status
      return status === undefined || status === 'running' ? 15_000 : pollInterval
    },
  })
  const status = data?.items.find(({ id }) => id === deploymentId)?.status
  return (
    <p className="flex items-center gap-2 text-muted">
      <Spinner />
      {status === undefined || status === 'running' ? (
        text.playground.waiting
      ) : (
        <span>
          <WakingTime /> <LastStart id={deploymentId} />
        </span>
      )}
    </p>
  )
}

/** Counts whole seconds, from one, to hide flicker. */
function WakingTime() {
  const [since] = useState(Date.now)
  const seconds = Math.max(1, Math.floor((useNow(1_000) - since) / 1_000))
  return text.playground.wakingUp(formatDuration(seconds * 1_000))
}
