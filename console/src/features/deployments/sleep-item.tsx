import { Moon, Sun } from 'lucide-react'
import type { Deployment } from '../../contract.ts'
import { MenuItem } from '../../components/menu.tsx'
import { text } from '../../text/index.ts'
import { findSleepAction } from './sleep-action.ts'
import { useSleepOrWake } from './use-sleep-or-wake.ts'

/** The entry of a menu that puts a deployment to sleep, or wakes it. */
export function SleepItem({ deployment }: { deployment: Deployment }) {
  const change = useSleepOrWake()
  const action = findSleepAction(deployment)
  if (action === null) return null
  return (
    <MenuItem onSelect={() => change.mutate({ id: deployment.id, act: action })}>
      {action === 'sleep' ? <Moon aria-hidden /> : <Sun aria-hidden />}
      {text.deployments[action]}
    </MenuItem>
  )
}
