import type { Deployment } from '../../contract.ts'
import { Badge } from '../../components/badge.tsx'
import type { Tone } from '../../components/badge.tsx'
import { text } from '../../text/index.ts'
import { isChanging, isInterrupted } from './status.ts'

const tones: Record<Deployment['status'], Tone> = {
  requested: 'busy',
  provisioning: 'busy',
  deploying: 'busy',
  running: 'good',
  failed: 'bad',
  sleeping: 'neutral',
  terminating: 'neutral',
  terminated: 'neutral',
}

/** A deployment's status. The dot pulses while the status is about to change. */
export function StatusBadge({ deployment }: { deployment: Pick<Deployment, 'status' | 'waiting_for'> }) {
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
