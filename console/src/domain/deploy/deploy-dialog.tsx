import { Suspense, useEffect } from 'react'
import { lazyPart, loadWhenIdle } from '../../routing/lazy-part.ts'
import type { DeployFormProps } from './deploy-form.tsx'

const DeployForm = lazyPart(() => import('./deploy-form.tsx').then((module) => module.DeployForm))

/** Chooses a variant of a model, shows its instance type and price, and deploys it. */
export function DeployDialog({ open, ...props }: DeployFormProps & { open: boolean }) {
  useEffect(() => loadWhenIdle(DeployForm.load), [])
  if (!open) return null
  return (
    <Suspense>
      <DeployForm {...props} />
    </Suspense>
  )
}
