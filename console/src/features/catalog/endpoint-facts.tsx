import { useQuery } from '@tanstack/react-query'
import type { DeployableModel } from '../../contract.ts'
import { Figure, Section } from '../../components/page.tsx'
import { writeTokenPrices } from '../../domain/models/endpoint-models.ts'
import { placementsQuery } from '../../domain/models/queries.ts'
import { text } from '../../text/index.ts'

const words = text.catalog

/** Whose server has a model, and what its tokens cost. */
export function EndpointFacts({ model }: { model: DeployableModel }) {
  const { data } = useQuery(placementsQuery)
  const price = data && writeTokenPrices(model.source.prices, data.currency)
  return (
    <Section>
      <dl className="grid grid-cols-2 gap-x-8 gap-y-4 lg:grid-cols-3">
        <Figure label={text.variants.endpoint} value={model.provider} />
        <Figure label={words.name} value={<code className="font-mono">{model.model_name}</code>} />
        <Figure
          label={words.price}
          value={price ?? words.priceUnknown}
          hint={price && text.variants.perMillionNote}
        />
      </dl>
    </Section>
  )
}
