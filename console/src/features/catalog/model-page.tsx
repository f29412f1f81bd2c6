import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Suspense, useState } from 'react'
import { useNow } from '../../components/use-now.ts'
import type { DeployableModel } from '../../contract.ts'
import { ApiError } from '../../api/client.ts'
import { useCan, useSession } from '../../api/session.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { LoadingPage } from '../../components/loading-page.tsx'
import { Page, Section } from '../../components/page.tsx'
import { ErrorState } from '../../components/states.tsx'
import { deploymentsQuery } from '../../domain/deployments/queries.ts'
import { StatusBadge } from '../../domain/deployments/status-badge.tsx'
import { findIdSuffixes } from '../../domain/deployments/names.ts'
import { nameVariant } from '../../domain/models/variant-names.ts'
import { formatRelative } from '../../format.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { DeployDialog } from '../../domain/deploy/deploy-dialog.tsx'
import { ModelFacts } from './model-facts.tsx'
import { placementsQuery } from '../../domain/models/queries.ts'
import { useModel } from './queries.ts'
import { VariantsTable } from './variants-table.tsx'
import type { Variant } from '../../domain/models/variants.ts'

const shownAtMost = 5

const words = text.catalog
const route = getRouteApi('/app/catalog/$modelId')
// Below the first screen
const CallSection = lazyPart(() => import('./call-section.tsx').then((module) => module.CallSection))
const EndpointFacts = lazyPart(() => import('./endpoint-facts.tsx').then((module) => module.EndpointFacts))
const UnknownModel = lazyPart(() => import('./unknown-model.tsx').then((module) => module.UnknownModel))
const ModelMenu = lazyPart(() => import('./own-models/model-menu.tsx').then((module) => module.ModelMenu))

/** A model with its properties, variants and deploy button. */
export function ModelPage() {
  const { modelId } = route.useParams()
  const model = useModel(modelId)
  // Wait for the deployments, because they would shift the variants below them.
  const deployments = useQuery(deploymentsQuery({ all: false, page: 1 }))
  if (model.isPending || deployments.isPending) return <LoadingPage />
  const isUnknown = model.error instanceof ApiError && [404, 422].includes(model.error.status)
  if (isUnknown) {
    return (
      <Suspense fallback={<LoadingPage />}>
        <UnknownModel wasThere={model.data !== undefined} />
      </Suspense>
    )
  }
  // The key resets the state when the model changes.
  if (model.data) return <Model key={modelId} model={model.data} />
  return (
    <Page title={text.pages.catalog.title}>
      <Section flush>
        <ErrorState error={model.error} onRetry={() => void model.refetch()} />
      </Section>
    </Page>
  )
}

function Model({ model }: { model: DeployableModel }) {
  const can = useCan()
  const placements = useQuery(placementsQuery)
  const [isDeploying, setIsDeploying] = useState(false)
  const [initial, setInitial] = useState<Variant>()
  const isOwn = model.owner === 'organization'
  const isOutside = model.source.kind === 'endpoint'
  const mayDeploy = can('createDeployments') && model.base_model === null
  const deploy = (choice?: Variant) => {
    setInitial(choice)
    setIsDeploying(true)
  }
  return (
    <Page
      title={model.display_name}
      before={
        <Link to="/catalog" className="back-link">
          {text.pages.catalog.title}
        </Link>
      }
      heading={
        <span className="flex flex-wrap items-center gap-2.5">
          {model.display_name}
          <Badge className="tracking-normal">{words.types[model.model_type]}</Badge>
          {isOwn && (
            <Badge tone="accent" className="tracking-normal">
              {words.onlyOrganization}
            </Badge>
          )}
        </span>
      }
      description={model.description}
      actions={
        <>
          {isOwn && can('manageModels') && (
            <Suspense>
              <ModelMenu model={model} />
            </Suspense>
          )}
          {mayDeploy && model.enabled && (
            <Button variant="primary" onClick={() => deploy()}>
              {words.deploy}
            </Button>
          )}
        </>
      }
    >
      {isOutside ? (
        <Suspense>
          <EndpointFacts model={model} />
        </Suspense>
      ) : (
        <ModelFacts model={model} />
      )}
      <ModelDeployments modelName={model.model_name} />
      {model.base_model === null && !isOutside && (
        <VariantsTable model={model} placements={placements} onDeploy={mayDeploy ? deploy : undefined} />
      )}
      {/* Wait for the table above, which would shift this section. */}
      {can('useOwnDeployments') && !placements.isPending && (
        <Suspense>
          <CallSection model={model} />
        </Suspense>
      )}
      {mayDeploy && (
        <DeployDialog open={isDeploying} onOpenChange={setIsDeploying} model={model} initial={initial} />
      )}
    </Page>
  )
}

/** Links to the newest deployments of a model that the person may call: reuse costs nothing more. */
function ModelDeployments({ modelName }: { modelName: string }) {
  const { data } = useQuery(deploymentsQuery({ all: false, page: 1 }))
  const { user } = useSession()
  // A poll without changes does not re-render, so update relative times here.
  useNow(10_000)
  const deployments = data?.items.filter(({ model_name }) => model_name === modelName) ?? []
  if (deployments.length === 0) return null
  const idSuffixes = findIdSuffixes(deployments)
  return (
    <Section
      title={words.alreadyDeployed}
      flush
      actions={
        deployments.length > shownAtMost && (
          <Link to="/deployments" className="text-[0.8125rem] font-medium text-accent hover:underline">
            {words.seeAllDeployments}
          </Link>
        )
      }
    >
      <ul className="divide-y">
        {deployments.slice(0, shownAtMost).map((deployment) => (
          <li
            key={deployment.id}
            className="relative flex flex-wrap items-center gap-x-4 gap-y-1 px-5 py-3 hover:bg-subtle"
          >
            <Link
              to="/deployments/$deploymentId"
              params={{ deploymentId: deployment.id }}
              className="font-medium after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
            >
              {deployment.alias === null ? '' : `${deployment.alias} · `}
              {nameVariant(deployment, idSuffixes.get(deployment.id))}
            </Link>
            <StatusBadge deployment={deployment} />
            <span className="ml-auto text-[0.8125rem] text-muted">
              {deployment.user_id === String(user.id)
                ? words.createdAgo(formatRelative(deployment.created_at))
                : text.team.ownedBy(deployment.owner.name || deployment.owner.email)}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  )
}
