import { Disclosure } from '../../components/disclosure.tsx'
import type { DeploymentPlan } from '../../contract.ts'
import type { EngineOptions } from '../../engine-options.ts'
import { text } from '../../text/index.ts'
import { EngineOptionsField } from './engine-options-field.tsx'

interface EngineOptionsPartProps {
  plan: DeploymentPlan | undefined
  onChange: (options: EngineOptions) => void
  onError: (isMalformed: boolean) => void
}

/** The advanced part of a new deployment. */
export function EngineOptionsPart({ plan, onChange, onError }: EngineOptionsPartProps) {
  return (
    <Disclosure summary={text.engine.advanced}>
      <div className="px-4 py-3">
        <EngineOptionsField
          initial={{}}
          plan={plan}
          onChange={(options) => {
            onError(options === undefined)
            if (options !== undefined) onChange(options)
          }}
        />
      </div>
    </Disclosure>
  )
}
