import { getRouteApi } from '@tanstack/react-router'
import type { Deployment } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { isEnding, isFinished } from '../../domain/deployments/status.ts'
import { isOfEndpoint } from '../../domain/models/endpoint-models.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { text } from '../../text/index.ts'
import { Adapters } from './adapters.tsx'
import { Capacity } from './capacity.tsx'
import { EngineSection } from './engine-section.tsx'
import { EditScaling, ScalingSentences } from './instances-section.tsx'
import { ManagedNotice } from './managed-notice.tsx'
import { NameSection } from './name-section.tsx'
import { describeSharing } from './name-sharing.ts'
import { nameTermination } from './name-termination.ts'
import { usePayer } from './payer.ts'
import { RestoreSection } from './restore-section.tsx'

const words = text.deploymentSettings
const route = getRouteApi('/app/deployments/$deploymentId')

/** The settings of a deployment, as forms for people who may change them. */
export function SettingsTab({ deployment }: { deployment: Deployment }) {
  const { restore } = route.useSearch()
  const navigate = route.useNavigate()
  const access = useAccess(deployment)
  const organization = usePayer(deployment).name ?? ''
  const { owner, shared_with: sharedWith } = deployment
  const mayChange = access.change && !isFinished(deployment)
  const ask = (search: { share: 'yes' } | { terminate: 'yes' }) =>
    void navigate({ search: (previous) => ({ ...previous, ...search }), replace: true })
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
      {mayChange && <ManagedNotice deployments={[deployment]} />}
      {restore !== undefined && mayChange && <RestoreSection deployment={deployment} of={restore} />}
      {mayChange && (
        <NameSection key={`${deployment.alias} ${deployment.alias_order}`} deployment={deployment} />
      )}
      <Section
        title={words.sharing}
        actions={
          mayChange && (
            <Button onClick={() => ask({ share: 'yes' })}>
              {sharedWith === null ? text.deployment.sharing.share : text.deployment.sharing.stop}
            </Button>
          )
        }
      >
        <p className="text-muted">
          {sharedWith === null
            ? words.onlyOwner(owner.name || owner.email)
            : describeSharing(sharedWith, organization)}
        </p>
      </Section>
      {!isOfEndpoint(deployment) && (
        <Section title={text.instances.scaling} actions={<EditScaling deployment={deployment} />}>
          <ScalingSentences policy={deployment.policy} />
        </Section>
      )}
      <Capacity deployment={deployment} />
      {deployment.model_type === 'LLM' && !isOfEndpoint(deployment) && <Adapters deployment={deployment} />}
      <EngineSection deployment={deployment} />
      {access.terminate && !isEnding(deployment) && (
        <Section
          title={nameTermination(deployment)}
          actions={
            <Button variant="danger" onClick={() => ask({ terminate: 'yes' })}>
              {nameTermination(deployment)}
            </Button>
          }
        >
          <p className="text-muted">{words.endWords}</p>
        </Section>
      )}
    </div>
  )
}
