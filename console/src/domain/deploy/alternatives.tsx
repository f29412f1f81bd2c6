import { Link } from '@tanstack/react-router'
import type { Placement } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { text } from '../../text/index.ts'
import { nameVariant } from '../models/variant-names.ts'
import type { Variant } from '../models/variants.ts'

const words = text.catalog
const shownAtMost = 4

interface AlternativesProps {
  /** The placements of the model's variants. */
  placements: readonly Placement[]
  choice: Variant
  onChoose: (choice: Variant) => void
}

/** Suggests variants that fit instead of one that does not; without any, links to models that fit. */
export function Alternatives({ placements, choice, onChoose }: AlternativesProps) {
  const nearest = findNearest(placements, choice)
  return (
    <div className="flex flex-wrap items-center gap-2">
      <p className="w-full text-muted">{nearest.length > 0 ? words.wouldFit : words.noneFits}</p>
      {nearest.map(({ model_format, model_size_in_billions, quantization }) => {
        const alternative = { model_format, model_size_in_billions, quantization }
        return (
          <Button key={nameVariant(alternative)} size="small" onClick={() => onChoose(alternative)}>
            {nameVariant(alternative)}
          </Button>
        )
      })}
      {nearest.length === 0 && (
        <Button asChild size="small">
          <Link to="/catalog" search={{ fits: 'yes' }}>
            {words.seeFitting}
          </Link>
        </Button>
      )}
    </div>
  )
}

/** The fitting variants of the same size, then the most similar one of each other size, nearest first. */
function findNearest(placements: readonly Placement[], choice: Variant): Placement[] {
  const size = choice.model_size_in_billions
  const likeness = (placement: Placement) =>
    2 * Number(placement.model_format === choice.model_format) +
    Number(placement.quantization === choice.quantization)
  const fitting = placements
    .filter(({ feasible }) => feasible)
    .toSorted((one, other) => likeness(other) - likeness(one))
  const bySize = Map.groupBy(fitting, (placement) => placement.model_size_in_billions)
  return [...bySize]
    .toSorted(([one], [other]) => Math.abs(one - size) - Math.abs(other - size))
    .flatMap(([ofSize, members]) => (ofSize === size ? members : members.slice(0, 1)))
    .slice(0, shownAtMost)
}
