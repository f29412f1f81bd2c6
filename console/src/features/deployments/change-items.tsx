import { Link } from '@tanstack/react-router'
import { Gauge, Moon, Sun } from 'lucide-react'
import type { Deployment } from '../../contract.ts'
import { MenuItem } from '../../components/menu.tsx'
import { isFinished } from '../../domain/deployments/status.ts'
import { text } from '../../text/index.ts'
import { findSleepAction } from './sleep-action.ts'
import { useSleepOrWake } from './use-sleep-or-wake.ts'

/** The entries of a menu that change a deployment: they put it to sleep or wake it, and ask for a context. */
export function ChangeItems({ deployment }: { deployment: Deployment }) {
  const change = useSleepOrWake()
  const action = findSleepAction(deployment)
  const { id, context_tokens: context, model_type: type } = deployment
  return (
    <>
      {action !== null && (
        <MenuItem onSelect={() => change.mutate({ id, act: action })}>
          {action === 'sleep' ? <Moon aria-hidden /> : <Sun aria-hidden />}
          {text.deployments[action]}
        </MenuItem>
      )}
      {context !== null && type === 'LLM' && !isFinished(deployment) && (
        <MenuItem asChild>
          <Link
            to="/deployments/$deploymentId"
            params={{ deploymentId: id }}
            search={{ tab: 'settings', context: 'yes' }}
          >
            <Gauge aria-hidden />
            {text.deploymentParts.setMinimums}
          </Link>
        </MenuItem>
      )}
    </>
  )
}
