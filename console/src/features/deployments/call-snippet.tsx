import { Link } from '@tanstack/react-router'
import { CodeBlock } from '../../components/code-block.tsx'
import type { Deployment } from '../../contract.ts'
import { toRequestModel } from '../../domain/deployments/names.ts'
import { sampleKinds, writeCurl, writeFirstBody } from '../../domain/models/curl-sample.ts'
import { ScriptSessionButton } from '../../domain/session/script-session-button.tsx'
import { text } from '../../text/index.ts'

/** A command that calls a deployment, with the way to a session for it and to other languages. */
export function CallSnippet({ deployment }: { deployment: Deployment }) {
  const kind = sampleKinds[deployment.model_type]
  const body = writeFirstBody(toRequestModel(deployment), kind)
  return (
    <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-3">
      <CodeBlock code={writeCurl({ kind, origin: location.origin, body })} label={text.emptyList.snippet} />
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
        <Link
          to="/deployments/$deploymentId"
          params={{ deploymentId: deployment.id }}
          className="text-[0.8125rem] font-medium text-accent hover:underline"
        >
          {text.emptyList.otherSamples}
        </Link>
        <ScriptSessionButton />
      </div>
    </div>
  )
}
