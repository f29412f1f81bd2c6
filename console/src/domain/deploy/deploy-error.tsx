import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { ApiError } from '../../api/client.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { text } from '../../text/index.ts'

const words = text.plan
const billingCodes = [
  'resource_limit_reached',
  'trial_credit_exhausted',
  'payment_past_due',
  'account_suspended',
  'billing_not_activated',
  'budget_exhausted',
]

/** Shows why a deployment was rejected. The link to the page that resolves it calls `onLeave`. */
export function DeployError({ error, onLeave }: { error: unknown; onLeave: () => void }) {
  const can = useCan()
  const queryClient = useQueryClient()
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // On a small screen the message may be below the fold.
    if (error) box.current?.scrollIntoView({ block: 'nearest' })
  }, [error])
  if (!error) return null
  const code = error instanceof ApiError ? error.code : ''
  const isBilling = billingCodes.includes(code)
  return (
    <div ref={box} className="grid gap-2">
      <ErrorMessage error={error} />
      <div className="flex flex-wrap items-center gap-2 empty:hidden">
        {code === 'resource_limit_reached' && (
          <Button asChild size="small">
            <Link to="/deployments" onClick={onLeave}>
              {words.toDeployments}
            </Link>
          </Button>
        )}
        {isBilling && can('manageBilling') && (
          <Button asChild size="small">
            <Link to="/billing" onClick={onLeave}>
              {words.toBilling}
            </Link>
          </Button>
        )}
        {isBilling && !can('manageBilling') && <p className="text-muted">{words.askAdmin}</p>}
        {code === 'model_not_deployable' && (
          <Button asChild size="small">
            <Link
              to="/catalog"
              onClick={() => {
                void queryClient.invalidateQueries({ queryKey: ['catalog'] })
                onLeave()
              }}
            >
              {words.reloadCatalog}
            </Link>
          </Button>
        )}
      </div>
    </div>
  )
}
