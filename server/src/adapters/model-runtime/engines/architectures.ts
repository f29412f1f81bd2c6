/** The architectures that engines load, as weight files name them. */

/** `general.architecture` of GGUF files, from llama.cpp's `src/llama-arch.cpp` of 2026 */
export const llamaCppArchitectures: readonly string[] =
  `llama llama4 deci falcon grok gpt2 gptj gptneox mpt baichuan starcoder refact bert modern-bert nomic-bert nomic-bert-moe
    neo-bert jina-bert-v2 jina-bert-v3 eurobert bloom stablelm qwen qwen2 qwen2moe qwen2vl qwen3 qwen3moe qwen3next qwen3vl
    qwen3vlmoe qwen35 qwen35moe phi2 phi3 phimoe plamo plamo2 plamo3 codeshell orion internlm2 minicpm minicpm3 gemma gemma2
    gemma3 gemma3n gemma4 gemma-embedding starcoder2 mamba mamba2 jamba falcon-h1 xverse command-r cohere2 cohere2moe dbrx
    olmo olmo2 olmoe openelm arctic deepseek deepseek2 deepseek2-ocr deepseek32 deepseek4 chatglm glm4 glm4moe glm-dsa bitnet
    t5 t5encoder jais jais2 nemotron nemotron_h nemotron_h_moe exaone exaone4 exaone-moe rwkv6 rwkv6qwen2 rwkv7 arwkv7 granite
    granitemoe granitehybrid chameleon plm bailingmoe bailingmoe2 dots1 arcee afmoe laguna ernie4_5 ernie4_5-moe hunyuan-moe
    hunyuan-dense hunyuan_vl hy_v3 smollm3 gpt-oss lfm2 lfm2moe dream smallthinker llada llada-moe seed_oss grovemoe apertus
    minimax-m2 cogvlm rnd1 pangu-embedded mistral3 mistral4 paddleocr mimo2 step35 llama-embed maincoder kimi-linear talkie
    mellum`.split(/\s+/)

/** `architectures` of config.json, from vLLM's `model_executor/models/registry.py` of 2026 */
export const vllmArchitectures: readonly string[] =
  `AfmoeForCausalLM ApertusForCausalLM AquilaForCausalLM ArceeForCausalLM ArcticForCausalLM BaiChuanForCausalLM
    BaichuanForCausalLM BailingMoeForCausalLM BailingMoeV2ForCausalLM BambaForCausalLM BloomForCausalLM CohereForCausalLM
    Cohere2ForCausalLM CwmForCausalLM DbrxForCausalLM DeciLMForCausalLM DeepseekForCausalLM DeepseekV2ForCausalLM
    DeepseekV3ForCausalLM DeepseekV32ForCausalLM DeepseekV4ForCausalLM Dots1ForCausalLM Ernie4_5ForCausalLM
    Ernie4_5_MoeForCausalLM ExaoneForCausalLM Exaone4ForCausalLM FalconForCausalLM FalconMambaForCausalLM FalconH1ForCausalLM
    FlexOlmoForCausalLM GemmaForCausalLM Gemma2ForCausalLM Gemma3ForCausalLM Gemma3nForCausalLM GlmForCausalLM Glm4ForCausalLM
    Glm4MoeForCausalLM GptOssForCausalLM GPTBigCodeForCausalLM GPTJForCausalLM GPTNeoXForCausalLM GraniteForCausalLM
    GraniteMoeForCausalLM GraniteMoeHybridForCausalLM GraniteMoeSharedForCausalLM HunYuanMoEV1ForCausalLM
    HunYuanDenseV1ForCausalLM InternLMForCausalLM InternLM2ForCausalLM InternLM3ForCausalLM Jais2ForCausalLM JambaForCausalLM
    KimiLinearForCausalLM Lfm2ForCausalLM Lfm2MoeForCausalLM LlamaForCausalLM Llama4ForCausalLM LongcatFlashForCausalLM
    MambaForCausalLM Mamba2ForCausalLM MiniCPMForCausalLM MiniCPM3ForCausalLM MiniMaxForCausalLM MiniMaxText01ForCausalLM
    MiniMaxM1ForCausalLM MiniMaxM2ForCausalLM MistralForCausalLM MistralLarge3ForCausalLM MixtralForCausalLM MptForCausalLM
    MPTForCausalLM MiMoForCausalLM MiMoV2FlashForCausalLM NemotronForCausalLM NemotronHForCausalLM OlmoForCausalLM
    Olmo2ForCausalLM Olmo3ForCausalLM OlmoeForCausalLM OPTForCausalLM OrionForCausalLM OuroForCausalLM
    PanguEmbeddedForCausalLM PanguProMoEV2ForCausalLM PanguUltraMoEForCausalLM PersimmonForCausalLM PhiForCausalLM
    Phi3ForCausalLM PhiMoEForCausalLM Plamo2ForCausalLM Plamo3ForCausalLM Qwen2ForCausalLM Qwen2MoeForCausalLM
    Qwen3ForCausalLM Qwen3MoeForCausalLM Qwen3NextForCausalLM SeedOssForCausalLM SolarForCausalLM StableLMEpochForCausalLM
    StableLmForCausalLM Starcoder2ForCausalLM Step3TextForCausalLM TeleChatForCausalLM TeleChat2ForCausalLM TeleFLMForCausalLM
    XverseForCausalLM Zamba2ForCausalLM AriaForConditionalGeneration AyaVisionForConditionalGeneration
    Blip2ForConditionalGeneration ChameleonForConditionalGeneration Cohere2VisionForConditionalGeneration
    Ernie4_5_VLMoeForConditionalGeneration Gemma3ForConditionalGeneration Gemma3nForConditionalGeneration
    Glm4vForConditionalGeneration Glm4vMoeForConditionalGeneration HunYuanVLForConditionalGeneration
    InternS1ForConditionalGeneration InternVLForConditionalGeneration Idefics3ForConditionalGeneration
    SmolVLMForConditionalGeneration KeyeForConditionalGeneration KeyeVL1_5ForConditionalGeneration
    KimiVLForConditionalGeneration LightOnOCRForConditionalGeneration Llama4ForConditionalGeneration
    LlavaForConditionalGeneration LlavaNextForConditionalGeneration LlavaOnevisionForConditionalGeneration
    MiniMaxVL01ForConditionalGeneration Mistral3ForConditionalGeneration PaddleOCRVLForConditionalGeneration
    PaliGemmaForConditionalGeneration PixtralForConditionalGeneration Qwen2VLForConditionalGeneration
    Qwen2_5_VLForConditionalGeneration Qwen3VLForConditionalGeneration Qwen3VLMoeForConditionalGeneration
    Step3VLForConditionalGeneration VoxtralForConditionalGeneration AquilaModel ChatGLMModel ChatGLMForConditionalGeneration
    GPT2LMHeadModel GritLM Grok1ModelForCausalLM InternVLChatModel JAISLMHeadModel QWenLMHeadModel DeepseekVLV2ForCausalLM
    GLM4VForCausalLM MolmoForCausalLM Phi3VForCausalLM Phi4MMForCausalLM MiniCPMV MiniCPMO NVLM_D Ovis Ovis2_5 H2OVLChatModel
    SkyworkR1VChatModel BertModel GteModel GteNewModel Gemma2Model Gemma3TextModel LlamaModel LlamaBidirectionalModel
    MistralModel ModernBertModel NomicBertModel Qwen2Model RobertaModel RobertaForMaskedLM XLMRobertaModel
    BertForSequenceClassification GteNewForSequenceClassification ModernBertForSequenceClassification
    RobertaForSequenceClassification XLMRobertaForSequenceClassification`.split(/\s+/)
