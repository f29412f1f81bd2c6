import type { Deployment } from '../../contract.ts'
import { Notice } from '../../components/states.tsx'
import { formatRelative } from '../../format.ts'
import { nameDeployment } from './names.ts'

type Named = Pick<Deployment, 'id' | 'model_name' | 'selected_instance_type' | 'created_at'> &
  Partial<Pick<Deployment, 'alias'>>

/** Names the deployments that a dialog is about to end or to hand over, with a sentence about that. */
export function ActiveDeployments({ title, deployments }: { title: string; deployments: readonly Named[] }) {
  return (
    <Notice tone="warn">
      <p>{title}</p>
      <ul className="mt-1 grid max-h-40 gap-0.5 overflow-y-auto">
        {deployments.map(({ id, alias = null, model_name, selected_instance_type, created_at }) => (
          <li key={id}>
            {[nameDeployment({ alias, model_name }), selected_instance_type, formatRelative(created_at)]
              .filter(Boolean)
              .join(' · ')}
          </li>
        ))}
      </ul>
    </Notice>
  )
}
