import type { Deployment } from '../../../../server/src/contract.ts'
import { Badge, type Tone } from '../../components/badge.tsx'
import { text } from '../../text/index.ts'
import { isChanging, isInterrupted } from './status.ts'

const tones: Record<Deployment['status'], Tone> = {
  requested: 'busy',
  provisioning: 'busy',
  deploying: 'busy',
  running: 'good',
  failed: 'bad',
  terminating: 'neutral',
  terminated: 'neutral',
}

/** A deployment's status in a word; it pulses while something is under way. */
export function StatusBadge({ deployment }: { deployment: Pick<Deployment, 'status' | 'status_message'> }) {
  const interrupted = isInterrupted(deployment)
  return (
    <Badge
      tone={interrupted ? 'warn' : tones[deployment.status]}
      dot={isChanging(deployment) ? 'pulsing' : 'still'}
    >
      {interrupted ? text.deployments.interrupted : text.deployments.statuses[deployment.status]}
    </Badge>
  )
}
