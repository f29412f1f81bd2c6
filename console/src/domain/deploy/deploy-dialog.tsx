import { Suspense, useEffect } from 'react'
import { lazyPart } from '../../routing/lazy-part.ts'
import type { DeployFormProps } from './deploy-form.tsx'

const loadForm = () => import('./deploy-form.tsx').then((module) => module.DeployForm)
const DeployForm = lazyPart(loadForm)

/** Chooses a variant of a model, shows what it would run on and what that costs, and deploys it. */
export function DeployDialog({ open, ...props }: DeployFormProps & { open: boolean }) {
  useEffect(() => {
    // Here before it is asked for; where that fails, opening tries again.
    loadForm().catch(() => undefined)
  }, [])
  if (!open) return null
  return (
    <Suspense>
      <DeployForm {...props} />
    </Suspense>
  )
}
