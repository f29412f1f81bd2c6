import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/states.tsx'
import type { ModelType } from '../../contract.ts'
import { text } from '../../text/index.ts'

interface NoDeploymentProps {
  icon: ReactNode
  /** The models that the view needs, as the catalog filters them */
  type?: ModelType
  title: string
  hint: string
}

/** Says that a view has no deployment to call, and leads those to the catalog who may deploy one. */
export function NoDeployment({ icon, type, title, hint }: NoDeploymentProps) {
  const mayDeploy = useCan()('createDeployments')
  return (
    <EmptyState
      icon={icon}
      title={mayDeploy ? title : text.playground.noModel}
      action={
        mayDeploy && (
          <Button asChild variant="primary">
            <Link to="/catalog" search={{ type }}>
              {text.playground.toCatalog}
            </Link>
          </Button>
        )
      }
    >
      {mayDeploy ? hint : text.playground.mayNotDeploy}
    </EmptyState>
  )
}
