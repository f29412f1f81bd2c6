import { useState } from 'react'
import type { Deployment } from '../../contract.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Section } from '../../components/page.tsx'
import { SegmentedControl } from '../../components/segmented-control.tsx'
import { Notice } from '../../components/states.tsx'
import { ScriptSessionButton } from '../../domain/session/script-session-button.tsx'
import { text } from '../../text/index.ts'
import { browserStorage } from '../../browser.ts'
import { sampleKinds } from '../../domain/models/curl-sample.ts'
import { listCallSamples, writeCallSample } from './call-samples.ts'
import { toRequestModel } from '../../domain/deployments/names.ts'
import { isEnding } from '../../domain/deployments/status.ts'

const words = text.deploymentParts
const sampleChoice = 'berth.sample'

/** How to call a deployment: its address, its name, and code samples. */
export function CallSection({ deployment }: { deployment: Deployment }) {
  const kind = sampleKinds[deployment.model_type]
  const kinds = listCallSamples(kind)
  const [chosen, setChosen] = useState(() => browserStorage.read(sampleChoice))
  const language = kinds.find((one) => one === chosen) ?? kinds[0]!
  const [target, setTarget] = useState<'this' | 'model'>('this')
  const name = target === 'this' ? toRequestModel(deployment) : deployment.model_name
  const code = writeCallSample(language, { kind, origin: location.origin, model: name })
  const install = words.installs[language]
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
      {deployment.status !== 'running' && deployment.status !== 'sleeping' && (
        <Notice tone="warn">
          {isEnding(deployment) || deployment.status === 'failed'
            ? words.noLongerAnswers
            : words.notRunningYet}
        </Notice>
      )}
      <Section title={text.deployment.callIt} actions={<ScriptSessionButton />}>
        <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
          <p className="max-w-prose text-muted">{words.howToCall}</p>
          <div className="flex flex-wrap items-end justify-between gap-x-6 gap-y-4">
            <SegmentedControl
              label={words.language}
              value={language}
              onValueChange={(value) => {
                browserStorage.write(sampleChoice, value)
                setChosen(value)
              }}
              options={kinds.map((value) => ({ value, label: words.languages[value] }))}
            />
            <SegmentedControl
              label={words.target}
              value={target}
              onValueChange={setTarget}
              options={[
                { value: 'this', label: words.targetThis },
                { value: 'model', label: words.targetModel },
              ]}
            />
          </div>
          <dl className="grid gap-x-6 gap-y-2 sm:grid-cols-[auto_minmax(0,1fr)]">
            <Value label={words.baseUrl} value={`${location.origin}/v1`} />
            <Value label={words.modelName} value={name} />
          </dl>
          <p className="text-[0.8125rem] text-muted">
            {target === 'model'
              ? words.targetModelWords
              : deployment.alias === null
                ? words.targetThisWords
                : words.targetAliasWords}{' '}
            {install !== undefined && words.installFirst(install)}
          </p>
          <CodeBlock code={code} label={words.code(words.languages[language])} />
        </div>
      </Section>
    </div>
  )
}

function Value({ label, value }: { label: string; value: string }) {
  return (
    <>
      <dt className="pt-1 text-muted">{label}</dt>
      <dd className="flex min-w-0 items-center gap-1">
        <span className="min-w-0 font-mono text-[0.8125rem] break-all">{value}</span>
        <CopyButton value={value} label={text.common.copy(label)} />
      </dd>
    </>
  )
}
