import { useQuery } from '@tanstack/react-query'
import type { UseQueryResult } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import type { DeployableModel, Placement, Placements } from '../../contract.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { SegmentedControl } from '../../components/segmented-control.tsx'
import { Skeleton, SkeletonRows } from '../../components/states.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import { formatBytes, formatMoney, formatNumber } from '../../format.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { nameVariant, nameVariantParts } from '../../domain/models/variant-names.ts'
import { weightsQuery } from '../../domain/models/queries.ts'
import { chooseVariant, findPlacement, isSameVariant, listVariants } from '../../domain/models/variants.ts'
import type { Variant } from '../../domain/models/variants.ts'
import { areWeightsHere } from '../../domain/models/weights.ts'

const PlacementsError = lazyPart(() =>
  import('./placements-error.tsx').then((module) => module.PlacementsError),
)

const words = text.catalog

interface VariantsTableProps {
  model: DeployableModel
  placements: Pick<UseQueryResult<Placements>, 'data' | 'isPending' | 'error' | 'refetch'>
  /** Undefined without the permission to deploy. */
  onDeploy: ((choice: Variant) => void) | undefined
}

type List = 'best' | 'fitting' | 'all'

/** Variants with memory, instance type and price; at first only the recommended one, if any fits. */
export function VariantsTable({ model, placements, onDeploy }: VariantsTableProps) {
  const [wanted, setWanted] = useState<List>('best')
  // The placements come first, because the rows need them.
  const { data: weights } = useQuery({ ...weightsQuery, enabled: placements.data !== undefined })
  const own = placements.data?.items.filter(({ model_id }) => model_id === model.id) ?? []
  const rows = listVariants(model)
    .toSorted((one, other) => one.model_size_in_billions - other.model_size_in_billions)
    .map((choice) => ({ choice, placement: findPlacement(own, choice) }))
  const fitting = rows.filter(({ placement }) => placement?.feasible)
  const usual = chooseVariant(model, {}, own)
  const best = fitting.filter(({ choice }) => usual && isSameVariant(choice, usual))
  const lists = { best, fitting, all: rows }
  const options: { value: List; label: string }[] = [
    ...(best.length > 0 && rows.length > 1 ? [{ value: 'best' as const, label: words.recommended }] : []),
    ...(fitting.length > 1 && fitting.length < rows.length
      ? [{ value: 'fitting' as const, label: words.fitting(fitting.length) }]
      : []),
    { value: 'all', label: words.all(rows.length) },
  ]
  const { value: list } = options.find(({ value }) => value === wanted) ?? options[0]!
  return (
    <Section
      title={words.variants}
      description={words.variantsNote}
      flush
      actions={
        placements.isPending ? (
          <Skeleton className="h-8 w-44" />
        ) : (
          options.length > 1 && (
            <SegmentedControl
              label={words.whichVariants}
              value={list}
              onValueChange={setWanted}
              options={options}
            />
          )
        )
      }
    >
      {placements.error && !placements.data && (
        <div className="p-5">
          <Suspense>
            <PlacementsError placements={placements} />
          </Suspense>
        </div>
      )}
      {placements.isPending ? (
        <SkeletonRows count={6} />
      ) : (
        <Table
          label={words.variants}
          head={
            <>
              <HeadCell>{words.variant}</HeadCell>
              <HeadCell numeric className="max-md:hidden">
                {words.memory}
              </HeadCell>
              <HeadCell className="max-md:hidden">{words.runsOn}</HeadCell>
              <HeadCell numeric className="max-md:hidden">
                {words.price}
              </HeadCell>
              {onDeploy && (
                <HeadCell className="w-px pl-0">
                  <span className="sr-only">{words.deploy}</span>
                </HeadCell>
              )}
            </>
          }
        >
          {lists[list].map(({ choice, placement }) => (
            <VariantRow
              key={nameVariant(choice)}
              choice={choice}
              isDefault={isSameVariant(choice, model.default_variant)}
              isRecommended={best[0]?.choice === choice}
              isHere={placement !== undefined && areWeightsHere(weights?.items ?? [], placement)}
              placement={placement}
              currency={placements.data?.currency}
              onDeploy={onDeploy}
            />
          ))}
        </Table>
      )}
    </Section>
  )
}

interface VariantRowProps extends Pick<VariantsTableProps, 'onDeploy'> {
  choice: Variant
  isDefault: boolean
  isRecommended: boolean
  /** Whether its weights need no download */
  isHere: boolean
  placement: Placement | undefined
  currency: string | undefined
}

/** On a small screen, one line below the name replaces the other columns. */
function VariantRow({
  choice,
  isDefault,
  isRecommended,
  isHere,
  placement,
  currency,
  onDeploy,
}: VariantRowProps) {
  const [name, quantization] = nameVariantParts(choice)
  const memory = placement?.memory_bytes == null ? null : formatBytes(placement.memory_bytes)
  const price =
    placement?.feasible && currency
      ? placement.price_per_hour === null
        ? words.priceUnknown
        : words.perHour(formatMoney(placement.price_per_hour, currency))
      : null
  const summary = placement?.feasible
    ? [memory, placement.instance_type, price]
    : placement && [words.doesNotFit, memory && words.needs(memory)]
  return (
    <tr>
      <Cell className="max-md:pr-2">
        <span className="flex flex-wrap gap-x-2">
          <span className="font-medium whitespace-nowrap">{name}</span>
          <span className="text-muted">{quantization}</span>
          {isRecommended && <Badge tone="accent">{words.recommended}</Badge>}
          {isDefault && <Badge>{words.defaultVariant}</Badge>}
          {isHere && <Badge tone="good">{words.weightsHere}</Badge>}
        </span>
        <span className="tabular block text-[0.8125rem] text-muted md:hidden">
          {summary?.filter(Boolean).join(' · ')}
        </span>
        {isRecommended && (
          <span className="block text-[0.8125rem] text-muted">
            {words.why(
              isDefault,
              placement?.context_tokens == null ? null : formatNumber(placement.context_tokens),
            )}
          </span>
        )}
      </Cell>
      <Cell numeric className="max-md:hidden">
        {memory}
      </Cell>
      <Cell className="max-md:hidden">
        {placement?.feasible ? (
          <span className="flex flex-wrap gap-x-2">
            {placement.instance_type}
            {placement.gpu_count !== null && (
              <span className="whitespace-nowrap text-muted">
                {words.gpus(placement.gpu_count, placement.instance_type)}
              </span>
            )}
          </span>
        ) : (
          placement && <span className="text-muted">{words.doesNotFit}</span>
        )}
      </Cell>
      <Cell numeric className="max-md:hidden">
        {price}
      </Cell>
      {onDeploy && (
        <Cell className="w-px py-1.5! pl-0">
          <Button
            size="small"
            {...(placement?.feasible === false && { variant: 'quiet' })}
            aria-label={(placement?.feasible === false ? words.seeWhyChoice : words.deployChoice)(
              nameVariant(choice),
            )}
            onClick={() => onDeploy(choice)}
          >
            {placement?.feasible === false ? words.seeWhy : words.deploy}
          </Button>
        </Cell>
      )}
    </tr>
  )
}
