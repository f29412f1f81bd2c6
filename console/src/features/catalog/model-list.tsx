import { Link } from '@tanstack/react-router'
import { Check } from 'lucide-react'
import { memo, useDeferredValue } from 'react'
import { Badge } from '../../components/badge.tsx'
import { Skeleton } from '../../components/states.tsx'
import { formatBytes, formatMoney, formatParameters } from '../../format.ts'
import { text } from '../../text/index.ts'
import { describeModel } from './filter.ts'
import type { CatalogEntry } from './filter.ts'
import { rememberPlace, useReturnPlace } from './return-place.ts'
import { isOfEndpoint, writeTokenPrices } from '../../domain/models/endpoint-models.ts'
import { nameFormat } from '../../domain/models/variant-names.ts'

const words = text.catalog
const list = text.catalogList
const columns =
  'grid gap-x-6 gap-y-2 px-5 py-4 sm:grid-cols-[minmax(0,1fr)_11rem] xl:grid-cols-[minmax(0,1fr)_12rem_10rem_8rem]'

/** Rows of the first render fill a tall screen. Others follow in small steps, so a phone paints early. */
const firstRows = 12

interface ModelListProps {
  entries: CatalogEntry[]
  /** The ids of the models with weights that need no download */
  here: ReadonlySet<string>
  /** The currency of the prices; undefined until they are known. */
  currency: string | undefined
  arePlacementsLoading: boolean
  /** Whether the first render has all rows, because the page scrolls back to where it was */
  isReturn: boolean
}

/** A list of models with links to their pages. */
export function ModelList({ entries, here, currency, arePlacementsLoading, isReturn }: ModelListProps) {
  useReturnPlace()
  const shown = useDeferredValue(entries, isReturn ? entries : entries.slice(0, firstRows))
  return (
    <ul className="divide-y">
      {shown.map((entry) => (
        <ModelRow
          key={entry.model.id}
          entry={entry}
          isHere={here.has(entry.model.id)}
          currency={currency}
          arePlacementsLoading={arePlacementsLoading}
        />
      ))}
    </ul>
  )
}

interface ModelRowProps extends Omit<ModelListProps, 'entries' | 'here' | 'isReturn'> {
  entry: CatalogEntry
  isHere: boolean
}

const ModelRow = memo(function ModelRow({ entry, isHere, currency, arePlacementsLoading }: ModelRowProps) {
  const { model, sizes, formats, fit } = entry
  return (
    // Browsers skip layout and paint of rows outside the window; the reserved height is that of most rows.
    <li
      className={`relative [contain-intrinsic-size:auto_6.15rem] hover:bg-subtle [content-visibility:auto] ${columns}`}
    >
      <div className="grid min-w-0 content-start gap-0.5">
        <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
          <Link
            to="/catalog/$modelId"
            params={{ modelId: model.id }}
            onClick={({ currentTarget }) => rememberPlace(currentTarget)}
            className="font-semibold after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
          >
            {model.display_name}
          </Link>
          {model.model_type !== 'LLM' && <Badge>{words.types[model.model_type]}</Badge>}
          {isHere && <Badge tone="good">{words.weightsHere}</Badge>}
        </div>
        <p className="text-[0.8125rem] text-muted">{describeModel(model).join(' · ')}</p>
        <p className="line-clamp-2 max-w-prose" title={model.description}>
          {model.description}
        </p>
      </div>
      <dl className="grid content-start gap-0.5 text-[0.8125rem] max-sm:flex max-sm:flex-wrap max-sm:gap-x-4">
        <dt className="sr-only">{words.sizes}</dt>
        <dd className="tabular empty:hidden">{sizes.filter(Boolean).map(formatParameters).join(', ')}</dd>
        <dt className="sr-only">{words.formats}</dt>
        <dd className="text-muted">{formats.map(nameFormat).join(', ')}</dd>
      </dl>
      <dl className="col-span-full flex flex-wrap justify-between gap-x-6 gap-y-0.5 text-[0.8125rem] xl:contents">
        <dt className="sr-only">{list.hardware}</dt>
        <dd className="flex flex-wrap items-center gap-x-2 gap-y-0.5 xl:grid xl:content-start">
          {fit ? (
            <FitSummary fit={fit} sizes={sizes.length} isEndpoint={isOfEndpoint(model.default_variant)} />
          ) : (
            arePlacementsLoading && <Skeleton className="w-24" />
          )}
        </dd>
        <dt className="sr-only">{words.price}</dt>
        <dd className="tabular flex flex-wrap gap-x-1 xl:grid xl:content-start xl:text-right">
          {fit && currency && isOfEndpoint(model.default_variant) ? (
            <>
              <span className="font-medium">{writeTokenPrices(model.source.prices, currency)}</span>
              {model.source.prices && <span className="text-muted">{text.variants.perMillionNote}</span>}
            </>
          ) : fit?.pricePerHour && currency ? (
            <span className="font-medium">
              {(fit.isOnePrice ? words.perHour : list.from)(formatMoney(fit.pricePerHour, currency))}
            </span>
          ) : (
            arePlacementsLoading && <Skeleton className="ml-auto w-16" />
          )}
        </dd>
      </dl>
    </li>
  )
})

interface FitSummaryProps {
  fit: NonNullable<CatalogEntry['fit']>
  sizes: number
  isEndpoint: boolean
}

function FitSummary({ fit, sizes, isEndpoint }: FitSummaryProps) {
  const memory = fit.memoryBytes === null ? null : formatBytes(fit.memoryBytes)
  if (fit.sizes === 0) {
    if (isEndpoint) return list.unavailable
    return (
      <>
        <span className="font-medium">{words.doesNotFit}</span>
        <span className="text-muted">{memory === null ? list.noHardware : list.needsAtLeast(memory)}</span>
      </>
    )
  }
  return (
    <>
      <span className="inline-flex items-center gap-1.5 text-good">
        <Check aria-hidden className="size-3.5" />
        {isEndpoint ? list.available : fit.sizes === sizes ? words.fits : list.someFit(fit.sizes, sizes)}
      </span>
      {/* A small screen has no room for both memory and price. */}
      {memory !== null && fit.memoryBytes !== 0 && (
        <span className="text-muted max-sm:hidden">{list.needsAtLeast(memory)}</span>
      )}
    </>
  )
}

/** Placeholder rows with the size of loaded rows. */
export function ModelListSkeleton() {
  return (
    <div role="status" aria-label={text.common.loading} className="divide-y">
      {Array.from({ length: 8 }, (_, row) => (
        <div key={row} className={columns}>
          <div className="grid h-[4.15rem] content-between py-0.5">
            <Skeleton className="w-40" />
            <Skeleton className="w-56 max-w-full" />
            <Skeleton className="w-full max-w-prose" />
          </div>
          <Skeleton className="w-28" />
          <Skeleton className="w-24" />
          <Skeleton className="w-16 max-xl:hidden xl:ml-auto" />
        </div>
      ))}
    </div>
  )
}
