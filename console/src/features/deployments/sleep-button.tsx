import { Moon, Sun } from 'lucide-react'
import type { Deployment } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { useToasts } from '../../components/toast.tsx'
import { text } from '../../text/index.ts'
import { useSleepOrWake } from './queries.ts'
import { findSleepAction } from './sleep-action.ts'

/** Puts a running deployment to sleep, or wakes a sleeping one. */
export function SleepButton({ deployment }: { deployment: Deployment }) {
  const change = useSleepOrWake(deployment.id)
  const toasts = useToasts()
  const action = findSleepAction(deployment)
  if (action === null) return null
  return (
    <Button busy={change.isPending} onClick={() => change.mutate(action, { onError: toasts.error })}>
      {action === 'sleep' ? <Moon aria-hidden /> : <Sun aria-hidden />}
      {text.deployments[action]}
    </Button>
  )
}
