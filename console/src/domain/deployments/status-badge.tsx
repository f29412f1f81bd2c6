import type { Deployment } from '../../contract.ts'
import { Badge } from '../../components/badge.tsx'
import type { Tone } from '../../components/badge.tsx'
import { text } from '../../text/index.ts'
import { isChanging, isFallingAsleep, isInterrupted } from './status.ts'

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

type Shown = Pick<Deployment, 'status' | 'waiting_for' | 'instances'>

/** A deployment's status. The dot pulses while the status is about to change. */
export function StatusBadge({ deployment }: { deployment: Shown }) {
  const { tone, label } = describe(deployment)
  return (
    <Badge tone={tone} dot={isChanging(deployment) ? 'pulsing' : 'still'}>
      {label}
    </Badge>
  )
}

function describe(deployment: Shown): { tone: Tone; label: string } {
  if (isInterrupted(deployment)) return { tone: 'warn', label: text.deployments.interrupted }
  if (isFallingAsleep(deployment)) return { tone: 'neutral', label: text.deployments.fallingAsleep }
  return { tone: tones[deployment.status], label: text.deployments.statuses[deployment.status] }
}
