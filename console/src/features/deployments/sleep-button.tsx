import { Moon, Sun } from 'lucide-react'
import type { Deployment } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { text } from '../../text/index.ts'
import { findSleepAction } from './sleep-action.ts'
import { useSleepOrWake } from './use-sleep-or-wake.ts'

/** Puts a running deployment to sleep, or wakes a sleeping one. */
export function SleepButton({ deployment }: { deployment: Deployment }) {
  const change = useSleepOrWake(deployment.id)
  const action = findSleepAction(deployment)
  if (action === null) return null
  return (
    <Button busy={change.isPending} onClick={() => change.mutate(action)}>
      {action === 'sleep' ? <Moon aria-hidden /> : <Sun aria-hidden />}
      {text.deployments[action]}
    </Button>
  )
}
