import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Boxes, Rocket } from 'lucide-react'
import { useState } from 'react'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState, SkeletonRows } from '../../components/states.tsx'
import type { DeployableModel, Placement } from '../../contract.ts'
import { modelsQuery, placementsQuery } from '../../domain/models/queries.ts'
import type { Variant } from '../../domain/models/variants.ts'
import { text } from '../../text/index.ts'
import { DeployDialog } from '../../domain/deploy/deploy-dialog.tsx'
import { SharedModels, sharedModelsQuery } from './shared-models.tsx'

const words = text.emptyList

/**
 * Replaces the list before the first deployment: what the team shares, else a suggestion of a small model and
 * a link to the catalog.
 */
export function FirstRun() {
  const shared = useQuery(sharedModelsQuery)
  if (shared.isPending) return <SkeletonRows />
  if (shared.data === undefined || shared.data.length === 0) return <Suggestion />
  return (
    <>
      <SharedModels deployments={shared.data} />
      <OwnModel />
    </>
  )
}

/** Offers a person whose team shares models to deploy one all the same. */
function OwnModel() {
  const can = useCan()
  if (!can('createDeployments')) return null
  return (
    <p className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3 px-5 py-4 text-muted">
      {words.deployOwn}
      <Button asChild>
        <Link to="/catalog">{words.browseCatalog}</Link>
      </Button>
    </p>
  )
}

function Suggestion() {
  const can = useCan()
  const mayDeploy = can('createDeployments')
  const starter = useStarterModel()
  const [open, setOpen] = useState(false)
  return (
    <EmptyState
      icon={<Boxes />}
      title={mayDeploy ? words.firstRunTitle : words.firstRunViewerTitle}
      action={
        <div className="mt-2 flex flex-wrap justify-center gap-2">
          {mayDeploy && (
            <Button variant="primary" disabled={!starter} onClick={() => setOpen(true)}>
              <Rocket aria-hidden />
              {starter ? words.deployStarter(starter.model.display_name) : words.deployAny}
            </Button>
          )}
          <Button asChild>
            <Link to="/catalog">{words.browseCatalog}</Link>
          </Button>
          {starter && <DeployDialog open={open} onOpenChange={setOpen} {...starter} />}
        </div>
      }
    >
      {mayDeploy ? words.firstRun : words.firstRunViewer}
    </EmptyState>
  )
}

/** A model and variant for the first deployment. */
interface StarterModel {
  model: DeployableModel
  initial: Partial<Variant>
}

/** Suggests the smallest fitting chat model, bundled if possible. Undefined while loading or without one. */
function useStarterModel(): StarterModel | undefined {
  const { data: models } = useQuery(modelsQuery)
  const { data: placements, isError } = useQuery(placementsQuery)
  if (!models) return undefined
  const chat = models.filter(({ model_type }) => model_type === 'LLM')
  const bundled = chat.filter(({ tags }) => tags.includes('bundled'))
  if (placements) return findSmallest(bundled, placements.items) ?? findSmallest(chat, placements.items)
  // The dialog shows why placements are unavailable.
  return isError && bundled[0] ? { model: bundled[0], initial: {} } : undefined
}

function findSmallest(models: DeployableModel[], placements: Placement[]): StarterModel | undefined {
  const byId = new Map(models.map((model) => [model.id, model]))
  const [smallest] = placements
    .filter(({ feasible, model_id }) => feasible && byId.has(model_id))
    .toSorted((one, other) => (one.memory_bytes ?? Infinity) - (other.memory_bytes ?? Infinity))
  const model = smallest && byId.get(smallest.model_id)
  if (!model) return undefined
  const { model_format, model_size_in_billions, quantization } = smallest
  return { model, initial: { model_format, model_size_in_billions, quantization } }
}
