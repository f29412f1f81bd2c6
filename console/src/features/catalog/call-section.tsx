import { CodeBlock } from '../../components/code-block.tsx'
import { Section } from '../../components/page.tsx'
import type { DeployableModel } from '../../contract.ts'
import { sampleKinds, writeCurl, writeFirstBody } from '../../domain/models/curl-sample.ts'
import { ScriptSessionButton } from '../../domain/session/script-session-button.tsx'
import { text } from '../../text/index.ts'

const words = text.catalog

/** The command that calls a model, once it is deployed. */
export function CallSection({ model }: { model: DeployableModel }) {
  const kind = sampleKinds[model.model_type]
  return (
    <Section title={words.call} description={words.callNote} actions={<ScriptSessionButton />}>
      <CodeBlock
        label={words.callCode(model.display_name)}
        code={writeCurl({
          kind,
          origin: location.origin,
          body: writeFirstBody(model.model_name, kind),
        })}
      />
    </Section>
  )
}
