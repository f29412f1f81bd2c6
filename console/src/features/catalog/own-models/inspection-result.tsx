import { Check, X } from 'lucide-react'
import type { ModelInspection } from '../../../contract.ts'
import { Badge } from '../../../components/badge.tsx'
import { formatBytes, formatMoney, formatNumber } from '../../../format.ts'
import { nameFormat, nameVariant } from '../../../domain/models/variant-names.ts'
import { text } from '../../../text/index.ts'

const words = text.ownModels

type InspectedVariant = ModelInspection['variants'][number]

/** The variants of a repository or a file: what each runs on and costs, or why it can't run. */
export function InspectionResult({ inspection }: { inspection: ModelInspection }) {
  const { license, context_tokens: context, tags, model_type: type, variants, currency, adapter } = inspection
  const isFile = inspection.repository === null
  const sorted = variants.toSorted((one, other) => Number(other.runs) - Number(one.runs))
  return (
    <section aria-label={isFile ? words.fileResult : words.result} className="grid gap-3">
      <p className="flex flex-wrap items-center gap-2 text-[0.8125rem] text-muted">
        <span>
          {words.facts(license ?? words.licenseUnknown, context === null ? null : formatNumber(context))}
        </span>
        {adapter === null ? (
          <Badge>{text.catalog.types[type]}</Badge>
        ) : (
          <Badge tone="accent">
            {text.adapters.inspected(adapter.base_model ?? adapter.base_repository ?? '?', adapter.rank)}
          </Badge>
        )}
        {tags
          .filter((tag) => !['chat', 'embedding', 'rerank'].includes(tag))
          .map((tag) => (
            <Badge key={tag}>{tag}</Badge>
          ))}
      </p>
      {variants.length === 0 && <p>{words.noVariants}</p>}
      <ul className="divide-y rounded-lg border" aria-label={text.catalog.variants}>
        {sorted.map((variant) => (
          <VariantItem
            key={`${variant.model_format} ${variant.quantizations.join()}`}
            variant={variant}
            base={adapter?.base_model ?? null}
            isFile={isFile}
            currency={currency}
          />
        ))}
      </ul>
    </section>
  )
}

interface VariantItemProps {
  variant: InspectedVariant
  /** The base model of a LoRA; null for another model */
  base: string | null
  isFile: boolean
  currency: string
}

function VariantItem({ variant, base, isFile, currency }: VariantItemProps) {
  const { runs, reason, instance_type: instance, price_per_hour: price, weight_bytes: bytes } = variant
  const Icon = runs ? Check : X
  return (
    <li className="flex gap-3 px-4 py-2.5">
      <Icon
        aria-hidden
        className={runs ? 'mt-0.5 size-4 shrink-0 text-good' : 'mt-0.5 size-4 shrink-0 text-muted'}
      />
      <div className="grid min-w-0 gap-0.5">
        <span className="flex flex-wrap gap-x-2">
          <span className="font-medium">{nameInspected(variant)}</span>
          <span className="tabular text-muted">
            {isFile ? formatBytes(bytes) : words.weights(formatBytes(bytes))}
          </span>
        </span>
        <span className="text-[0.8125rem] break-words text-muted">
          {runs && instance !== null
            ? words.runs(
                instance,
                price === null
                  ? text.catalog.priceUnknown
                  : text.catalog.perHour(formatMoney(price, currency)),
              )
            : runs && base !== null
              ? text.adapters.servedBy(base)
              : reason}
        </span>
      </div>
    </li>
  )
}

function nameInspected({
  model_size_in_billions: size,
  model_format,
  quantizations,
}: InspectedVariant): string {
  const quantization = quantizations[0] ?? ''
  if (size !== null) return nameVariant({ model_size_in_billions: size, model_format, quantization })
  return quantization === 'none' ? nameFormat(model_format) : `${nameFormat(model_format)} ${quantization}`
}
