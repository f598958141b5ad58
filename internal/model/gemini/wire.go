package gemini

import "encoding/json"

// The part of the REST format that this provider uses, in the names of the format.
type (
	requestBody struct {
		System   *content  `json:"systemInstruction,omitempty"`
		Contents []content `json:"contents"`
		Tools    []tools   `json:"tools,omitempty"`
		Config   *config   `json:"generationConfig,omitempty"`
	}
	content struct {
		Role  string `json:"role,omitempty"`
		Parts []part `json:"parts"`
	}
	part struct {
		Text      *string           `json:"text,omitempty"`
		Thought   bool              `json:"thought,omitempty"`
		Signature string            `json:"thoughtSignature,omitempty"` // base64, never decoded here
		Call      *functionCall     `json:"functionCall,omitempty"`
		Response  *functionResponse `json:"functionResponse,omitempty"`
		Inline    *blob             `json:"inlineData,omitempty"`
	}
	blob struct {
		MIMEType string `json:"mimeType"`
		Data     []byte `json:"data"` // JSON has it in base64
	}
	functionCall struct {
		ID   string          `json:"id,omitempty"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args,omitempty"`
	}
	functionResponse struct {
		ID       string   `json:"id,omitempty"`
		Name     string   `json:"name"`
		Response response `json:"response"`
	}
	response struct {
		Output *string `json:"output,omitempty"`
		Error  *string `json:"error,omitempty"`
	}
	tools struct {
		Functions []function `json:"functionDeclarations"`
	}
	function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Schema      json.RawMessage `json:"parametersJsonSchema,omitempty"`
	}
	config struct {
		MaxOutputTokens int             `json:"maxOutputTokens,omitempty"`
		MIMEType        string          `json:"responseMimeType,omitempty"`
		Schema          json.RawMessage `json:"responseJsonSchema,omitempty"`
		Thinking        *thinking       `json:"thinkingConfig,omitempty"`
	}
	thinking struct {
		Include bool   `json:"includeThoughts,omitempty"`
		Level   string `json:"thinkingLevel,omitempty"`
		Budget  *int   `json:"thinkingBudget,omitempty"`
	}
)

// What a chunk of the stream may hold; other fields say nothing here.
type (
	chunk struct {
		Candidates []candidate     `json:"candidates"`
		Feedback   *feedback       `json:"promptFeedback"`
		Usage      *usageMetadata  `json:"usageMetadata"`
		ResponseID string          `json:"responseId"`
		Error      json.RawMessage `json:"error"`
	}
	candidate struct {
		Content       content `json:"content"`
		FinishReason  string  `json:"finishReason"`
		FinishMessage string  `json:"finishMessage"`
	}
	feedback struct {
		BlockReason string `json:"blockReason"`
		Message     string `json:"blockReasonMessage"`
	}
	usageMetadata struct {
		Prompt     int64 `json:"promptTokenCount"`
		ToolPrompt int64 `json:"toolUsePromptTokenCount"`
		Cached     int64 `json:"cachedContentTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
	}
)
