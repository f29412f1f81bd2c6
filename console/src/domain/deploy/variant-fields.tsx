import type { DeployableModel, Placement } from '../../contract.ts'
import { SelectField } from '../../components/field.tsx'
import { formatBytes, formatParameters } from '../../format.ts'
import { text } from '../../text/index.ts'
import { nameFormat, nameQuantization } from '../models/variant-names.ts'
import { findPlacement, listVariants } from '../models/variants.ts'
import type { Variant } from '../models/variants.ts'

const words = text.catalog

interface VariantFieldsProps {
  model: DeployableModel
  /** The placements of the model's variants; empty while they load. */
  placements: readonly Placement[]
  /** Undefined until the first choice is known. */
  choice: Variant | undefined
  onChoose: (changes: Partial<Variant>) => void
}

/** Size, format and quantization. Each lists the values for the selects before it, by whether they fit. */
export function VariantFields({ model, placements, choice, onChoose }: VariantFieldsProps) {
  const all = listVariants(model).toSorted(
    (one, other) => one.model_size_in_billions - other.model_size_in_billions,
  )
  const ofSize = all.filter((one) => one.model_size_in_billions === choice?.model_size_in_billions)
  const ofFormat = ofSize.filter((one) => one.model_format === choice?.model_format)
  return (
    <div className="grid grid-cols-2 gap-4 sm:grid-cols-3">
      <ChoiceField
        label={words.size}
        choices={all}
        placements={placements}
        valueOf={(one) => one.model_size_in_billions}
        name={formatParameters}
        value={choice?.model_size_in_billions}
        onChoose={(size) => onChoose({ model_size_in_billions: Number(size) })}
      />
      <ChoiceField
        label={text.plan.format}
        choices={ofSize}
        placements={placements}
        valueOf={(one) => one.model_format}
        name={nameFormat}
        value={choice?.model_format}
        onChoose={(format) => onChoose({ model_format: format })}
      />
      <ChoiceField
        label={text.plan.quantization}
        choices={ofFormat}
        placements={placements}
        valueOf={(one) => one.quantization}
        name={nameQuantization}
        value={choice?.quantization}
        onChoose={(quantization) => onChoose({ quantization })}
      />
    </div>
  )
}

interface ChoiceFieldProps<Value extends string | number> extends OptionsProps<Value> {
  label: string
  /** Undefined until the first choice is known */
  value: Value | undefined
  onChoose: (value: string) => void
}

/** A select of values; a text if there is only one. */
function ChoiceField<Value extends string | number>({
  label,
  value,
  onChoose,
  ...options
}: ChoiceFieldProps<Value>) {
  const [only, ...others] = new Set(options.choices.map(options.valueOf))
  if (only !== undefined && others.length === 0) {
    return (
      <dl className="grid content-start gap-1.5">
        <dt className="font-medium">{label}</dt>
        <dd className="flex min-h-9 items-center">{options.name(only)}</dd>
      </dl>
    )
  }
  return (
    <SelectField
      label={label}
      disabled={value === undefined}
      value={value ?? ''}
      onChange={({ target }) => onChoose(target.value)}
    >
      <Options {...options} />
    </SelectField>
  )
}

interface OptionsProps<Value extends string | number> {
  choices: Variant[]
  placements: readonly Placement[]
  valueOf: (choice: Variant) => Value
  name: (value: Value) => string
}

/** Options, with values without a fitting variant in a separate, disabled group that says why. */
function Options<Value extends string | number>({ choices, placements, valueOf, name }: OptionsProps<Value>) {
  const byValue = Map.groupBy(choices, valueOf)
  const fits = ([, members]: [Value, Variant[]]) =>
    members.some((choice) => findPlacement(placements, choice)?.feasible !== false)
  const [fitting, others] = [[...byValue].filter(fits), [...byValue].filter((entry) => !fits(entry))]
  const usable = fitting.map(([value]) => (
    <option key={value} value={value}>
      {name(value)}
    </option>
  ))
  if (others.length === 0) return usable
  return (
    <>
      {fitting.length > 0 && <optgroup label={words.fits}>{usable}</optgroup>}
      <optgroup label={words.doesNotFit}>
        {others.map(([value, members]) => (
          <option key={value} value={value} disabled>
            {text.plan.unfit(name(value), describeObstacle(placements, members))}
          </option>
        ))}
      </optgroup>
    </>
  )
}

/** What the variant lacks that comes closest to fitting. */
function describeObstacle(placements: readonly Placement[], members: readonly Variant[]): string {
  const found = members.flatMap((choice) => findPlacement(placements, choice) ?? [])
  const needs = found.flatMap(({ obstacle, memory_bytes }) =>
    obstacle === 'memory' && memory_bytes !== null ? memory_bytes : [],
  )
  if (found.some(({ obstacle }) => obstacle === 'in_use')) return text.plan.memoryInUse
  return needs.length > 0 ? words.needs(formatBytes(Math.min(...needs))) : text.plan.otherHardware
}
