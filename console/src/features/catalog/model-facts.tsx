import type { ReactNode } from 'react'
import type { DeployableModel } from '../../contract.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Section } from '../../components/page.tsx'
import { formatNumber, formatParameters } from '../../format.ts'
import { text } from '../../text/index.ts'
import { nameFormat } from '../../domain/models/variant-names.ts'
import { listFormats, listSizes } from '../../domain/models/variants.ts'

const words = text.catalog

/** A table of a model's properties. */
export function ModelFacts({ model }: { model: DeployableModel }) {
  return (
    <Section>
      <dl className="grid grid-cols-2 gap-x-8 gap-y-4 lg:grid-cols-3">
        <Fact name={words.provider}>{model.provider}</Fact>
        <Fact name={words.family}>{model.family}</Fact>
        <ModelId model={model} />
        {model.base_model !== null && (
          <Fact name={text.adapters.adapterOf}>
            {model.base_model}
            <span className="block text-[0.8125rem] text-muted">
              {text.adapters.adapterNote(model.base_model)}
            </span>
          </Fact>
        )}
        <Fact name={words.sizes}>{listSizes(model).map(formatParameters).join(', ')}</Fact>
        <Fact name={words.context}>{words.contextTokens(formatNumber(model.context_tokens))}</Fact>
        <Fact name={words.formats}>{listFormats(model).map(nameFormat).join(', ')}</Fact>
        {model.license !== null && <Fact name={words.license}>{model.license}</Fact>}
        {model.source.repository !== null && (
          <Fact name={words.source}>
            <span className="break-all">
              {model.source.repository}{' '}
              <code className="font-mono text-[0.8125rem] text-muted">
                {model.source.commit?.slice(0, 7)}
              </code>
            </span>
          </Fact>
        )}
        {model.tags.length > 0 && <Fact name={words.tags}>{model.tags.join(', ')}</Fact>}
      </dl>
    </Section>
  )
}

/** The name that requests use, with a button that copies it. */
export function ModelId({ model }: { model: DeployableModel }) {
  return (
    <Fact name={words.name}>
      <span className="flex items-center gap-1">
        <code className="min-w-0 font-mono text-[0.8125rem] break-all">{model.model_name}</code>
        <span className="-my-1.5">
          <CopyButton value={model.model_name} label={text.common.copy(words.name)} />
        </span>
      </span>
    </Fact>
  )
}

/** A property of a model, inside a `<dl>`. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="grid min-w-0 content-start gap-0.5">
      <dt className="text-[0.8125rem] text-muted">{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
