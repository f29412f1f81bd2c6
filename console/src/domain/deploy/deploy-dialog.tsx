import { Suspense, useEffect } from 'react'
import type { DeployableModel } from '../../../../server/src/contract.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import type { VariantChoice } from '../models/variants.ts'

export interface DeployDialogProps {
  open: boolean
  onOpenChange: (open: boolean) => void
  model: DeployableModel
  /** The variant to begin with; what is left out is chosen by what fits. */
  initial?: Partial<VariantChoice> | undefined
}

const loadForm = () => import('./deploy-form.tsx').then((module) => module.DeployForm)
const DeployForm = lazyPart(loadForm)

/** Chooses a variant of a model, shows what it would run on and what that costs, and deploys it. */
export function DeployDialog({ open, ...props }: DeployDialogProps) {
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
