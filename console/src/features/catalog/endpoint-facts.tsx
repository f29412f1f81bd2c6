import { useQuery } from '@tanstack/react-query'
import type { DeployableModel } from '../../contract.ts'
import { Section } from '../../components/page.tsx'
import { writeTokenPrices } from '../../domain/models/endpoint-models.ts'
import { placementsQuery } from '../../domain/models/queries.ts'
import { text } from '../../text/index.ts'
import { Fact, ModelId } from './model-facts.tsx'

const words = text.catalog

/** Whose server has a model, and what its tokens cost. */
export function EndpointFacts({ model }: { model: DeployableModel }) {
  const { data } = useQuery(placementsQuery)
  const price = data && writeTokenPrices(model.source.prices, data.currency)
  return (
    <Section>
      <dl className="grid grid-cols-2 gap-x-8 gap-y-4 lg:grid-cols-3">
        <Fact name={text.variants.endpoint}>{model.provider}</Fact>
        <ModelId model={model} />
        <Fact name={words.price}>
          {price ?? words.priceUnknown}
          {price && <span className="block text-[0.8125rem] text-muted">{text.variants.perMillionNote}</span>}
        </Fact>
      </dl>
    </Section>
  )
}
