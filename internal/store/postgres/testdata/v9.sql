--
-- PostgreSQL database dump
--



SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: attempts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.attempts (
    id text NOT NULL COLLATE pg_catalog."C",
    session text NOT NULL COLLATE pg_catalog."C",
    execution text NOT NULL COLLATE pg_catalog."C",
    generation bigint NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    boot text NOT NULL COLLATE pg_catalog."C",
    node text NOT NULL COLLATE pg_catalog."C",
    workflow text NOT NULL COLLATE pg_catalog."C",
    run text NOT NULL COLLATE pg_catalog."C",
    activity text NOT NULL COLLATE pg_catalog."C",
    claimed_at text NOT NULL COLLATE pg_catalog."C",
    closed_at text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: boot_state; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.boot_state (
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: budgets; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.budgets (
    scope text NOT NULL COLLATE pg_catalog."C",
    scope_id text NOT NULL COLLATE pg_catalog."C",
    period text NOT NULL COLLATE pg_catalog."C",
    org text NOT NULL COLLATE pg_catalog."C",
    tokens bigint NOT NULL,
    nano_usd bigint NOT NULL,
    thresholds text NOT NULL COLLATE pg_catalog."C",
    updated_at text NOT NULL COLLATE pg_catalog."C",
    spent_since text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    spent_tokens bigint DEFAULT 0 NOT NULL,
    spent_nano_usd bigint DEFAULT 0 NOT NULL,
    told bigint DEFAULT 0 NOT NULL
);


--
-- Name: commit_slots; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.commit_slots (
    slot text NOT NULL COLLATE pg_catalog."C",
    token bigint NOT NULL,
    at timestamp with time zone NOT NULL
);


--
-- Name: dispatches; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.dispatches (
    execution text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    session text NOT NULL COLLATE pg_catalog."C",
    org text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cached_tokens bigint DEFAULT 0 NOT NULL,
    reasoning_tokens bigint DEFAULT 0 NOT NULL,
    estimated boolean DEFAULT false NOT NULL,
    cost bigint DEFAULT 0 NOT NULL,
    unpriced bigint DEFAULT 0 NOT NULL,
    cache_write_tokens bigint DEFAULT 0 NOT NULL,
    response_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    at text NOT NULL COLLATE pg_catalog."C",
    member text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: events; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.events (
    session text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    root text NOT NULL COLLATE pg_catalog."C",
    tree_seq bigint NOT NULL,
    depth bigint NOT NULL,
    type text NOT NULL COLLATE pg_catalog."C",
    data bytea NOT NULL
);


--
-- Name: executions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.executions (
    id text NOT NULL COLLATE pg_catalog."C",
    session text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    generation bigint DEFAULT 0 NOT NULL,
    attempt text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    input_id text NOT NULL COLLATE pg_catalog."C",
    input bytea NOT NULL,
    policy bytea,
    cancelled boolean DEFAULT false NOT NULL,
    reason text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    waiting_for text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    calls bigint DEFAULT 0 NOT NULL,
    tool_calls bigint DEFAULT 0 NOT NULL,
    input_tokens bigint DEFAULT 0 NOT NULL,
    output_tokens bigint DEFAULT 0 NOT NULL,
    cached_tokens bigint DEFAULT 0 NOT NULL,
    reasoning_tokens bigint DEFAULT 0 NOT NULL,
    estimated boolean DEFAULT false NOT NULL,
    cost bigint DEFAULT 0 NOT NULL,
    unpriced bigint DEFAULT 0 NOT NULL,
    cache_write_tokens bigint DEFAULT 0 NOT NULL,
    handed_off boolean DEFAULT false NOT NULL,
    redispatches bigint DEFAULT 0 NOT NULL,
    started_at text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    recoveries bigint DEFAULT 0 NOT NULL,
    overloads bigint DEFAULT 0 NOT NULL,
    overloaded_at text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    recovered_from text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: goals; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.goals (
    session text NOT NULL COLLATE pg_catalog."C",
    text text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    status text NOT NULL COLLATE pg_catalog."C",
    reason text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    rationale text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    evidence text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    updated_at text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: history; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.history (
    session text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    execution text NOT NULL COLLATE pg_catalog."C",
    item bytea NOT NULL
);


--
-- Name: idempotency; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.idempotency (
    scope text NOT NULL COLLATE pg_catalog."C",
    digest text NOT NULL COLLATE pg_catalog."C",
    answer bytea NOT NULL,
    expires_at bigint NOT NULL
);


--
-- Name: leases; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.leases (
    name text NOT NULL COLLATE pg_catalog."C",
    holder text NOT NULL COLLATE pg_catalog."C",
    epoch bigint NOT NULL,
    expires_at text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: nodes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.nodes (
    id text NOT NULL COLLATE pg_catalog."C",
    boot text NOT NULL COLLATE pg_catalog."C",
    host text NOT NULL COLLATE pg_catalog."C",
    engine text NOT NULL COLLATE pg_catalog."C",
    seen_at timestamp with time zone NOT NULL
);


--
-- Name: oauth_grant; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.oauth_grant (
    identity_id text NOT NULL COLLATE pg_catalog."C",
    resource_id text NOT NULL COLLATE pg_catalog."C",
    org_id text NOT NULL COLLATE pg_catalog."C",
    sealed bytea NOT NULL,
    expires_at text NOT NULL COLLATE pg_catalog."C",
    updated_at text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: outbox; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.outbox (
    session text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    created_at text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: pending_oauth_state; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pending_oauth_state (
    state text NOT NULL COLLATE pg_catalog."C",
    sealed bytea NOT NULL,
    expires_at text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: resource_labels; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.resource_labels (
    kind text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: resources; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.resources (
    kind text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    org text NOT NULL COLLATE pg_catalog."C",
    slug text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    visibility text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    created_at text NOT NULL COLLATE pg_catalog."C",
    updated_at text NOT NULL COLLATE pg_catalog."C",
    i1 text NOT NULL COLLATE pg_catalog."C",
    i2 text NOT NULL COLLATE pg_catalog."C",
    i3 text NOT NULL COLLATE pg_catalog."C",
    i4 text NOT NULL COLLATE pg_catalog."C",
    data bytea NOT NULL
);


--
-- Name: sandbox_holders; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sandbox_holders (
    scope text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    holder text NOT NULL COLLATE pg_catalog."C",
    execution text NOT NULL COLLATE pg_catalog."C",
    until_at text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: sandboxes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sandboxes (
    scope text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    liveness text NOT NULL COLLATE pg_catalog."C",
    epoch bigint NOT NULL,
    node text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    boot text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    until_at text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    image text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    root text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    warm_at text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    idle_at text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    deadline text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: schedule_runs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.schedule_runs (
    schedule text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    org text NOT NULL COLLATE pg_catalog."C",
    due_at text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    target text NOT NULL COLLATE pg_catalog."C",
    detail text NOT NULL COLLATE pg_catalog."C",
    updated_at text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: schema_version; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.schema_version (
    id integer NOT NULL,
    version_id bigint NOT NULL,
    is_applied boolean NOT NULL,
    tstamp timestamp without time zone DEFAULT now() NOT NULL
);


--
-- Name: schema_version_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.schema_version ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.schema_version_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: search_counts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_counts (
    slot text NOT NULL COLLATE pg_catalog."C",
    org text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    public smallint NOT NULL,
    documents bigint NOT NULL
);


--
-- Name: search_dirty; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_dirty (
    kind text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    ticket bigint NOT NULL,
    bulk smallint NOT NULL
);


--
-- Name: search_documents_a; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_documents_a (
    docid bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    org text NOT NULL COLLATE pg_catalog."C",
    public smallint NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    tags text NOT NULL COLLATE pg_catalog."C",
    visibility text NOT NULL COLLATE pg_catalog."C",
    created_at text NOT NULL COLLATE pg_catalog."C",
    session text NOT NULL COLLATE pg_catalog."C",
    digest text NOT NULL COLLATE pg_catalog."C",
    description text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: search_documents_b; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_documents_b (
    docid bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    org text NOT NULL COLLATE pg_catalog."C",
    public smallint NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    tags text NOT NULL COLLATE pg_catalog."C",
    visibility text NOT NULL COLLATE pg_catalog."C",
    created_at text NOT NULL COLLATE pg_catalog."C",
    session text NOT NULL COLLATE pg_catalog."C",
    digest text NOT NULL COLLATE pg_catalog."C",
    description text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: search_postings_a; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_postings_a (
    list text NOT NULL COLLATE pg_catalog."C",
    low bigint NOT NULL,
    documents smallint NOT NULL,
    docids bytea NOT NULL
)
WITH (fillfactor='75');
ALTER TABLE ONLY public.search_postings_a ALTER COLUMN docids SET STORAGE PLAIN;


--
-- Name: search_postings_b; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_postings_b (
    list text NOT NULL COLLATE pg_catalog."C",
    low bigint NOT NULL,
    documents smallint NOT NULL,
    docids bytea NOT NULL
)
WITH (fillfactor='75');
ALTER TABLE ONLY public.search_postings_b ALTER COLUMN docids SET STORAGE PLAIN;


--
-- Name: search_state; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_state (
    id smallint NOT NULL,
    current bigint NOT NULL,
    extractors text NOT NULL COLLATE pg_catalog."C",
    building bigint NOT NULL,
    holder text NOT NULL COLLATE pg_catalog."C",
    expires_at text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: search_texts_a; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_texts_a (
    docid bigint NOT NULL,
    body text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: search_texts_b; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_texts_b (
    docid bigint NOT NULL,
    body text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sessions (
    id text NOT NULL COLLATE pg_catalog."C",
    org text NOT NULL COLLATE pg_catalog."C",
    root text NOT NULL COLLATE pg_catalog."C",
    depth bigint NOT NULL,
    workspace text NOT NULL COLLATE pg_catalog."C",
    reject boolean NOT NULL,
    last_seq bigint DEFAULT 0 NOT NULL,
    tree_seq bigint DEFAULT 0 NOT NULL,
    history_len bigint DEFAULT 0 NOT NULL,
    positions bigint DEFAULT 0 NOT NULL,
    revision bigint DEFAULT 0 NOT NULL,
    active text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    open bigint DEFAULT 0 NOT NULL,
    removed_seq bigint DEFAULT 0 NOT NULL,
    removed_tree bigint DEFAULT 0 NOT NULL,
    swept_seq bigint DEFAULT 0 NOT NULL,
    history_start bigint DEFAULT 0 NOT NULL,
    history_kept bigint DEFAULT 0 NOT NULL,
    used_tokens bigint DEFAULT 0 NOT NULL,
    used_to bigint DEFAULT 0 NOT NULL
);


--
-- Name: signal_dedupe; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.signal_dedupe (
    id text NOT NULL COLLATE pg_catalog."C",
    claim text NOT NULL COLLATE pg_catalog."C",
    delivered boolean NOT NULL,
    answer text NOT NULL COLLATE pg_catalog."C",
    expires_at text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: timers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.timers (
    session text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    due_at text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: tool_calls; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tool_calls (
    execution text NOT NULL COLLATE pg_catalog."C",
    call_id text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    "position" bigint NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    class text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    call bytea NOT NULL,
    mutation bytea
);


--
-- Name: version_history; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.version_history (
    kind text NOT NULL COLLATE pg_catalog."C",
    resource_id text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    data bytea NOT NULL,
    created_at text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: version_tags; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.version_tags (
    kind text NOT NULL COLLATE pg_catalog."C",
    resource_id text NOT NULL COLLATE pg_catalog."C",
    tag text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL
);


--
-- Name: workflow_execution_events; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.workflow_execution_events (
    execution text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    type text NOT NULL COLLATE pg_catalog."C",
    task text NOT NULL COLLATE pg_catalog."C",
    data bytea NOT NULL,
    created_at text NOT NULL COLLATE pg_catalog."C"
);


--
-- Data for Name: attempts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.attempts VALUES ('att_01m8rsbnse29cpwep9bm5jsyej', 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 'aex_01m8rsbnrkvaf542cv5hma88j1', 1, 'settled', 'boot_1', '', 'w', 'r', 'a', '2026-01-02T03:04:05.000000006Z', '2026-01-02T03:04:05.000000006Z');
INSERT INTO public.attempts VALUES ('att_01m8rsbnvd9fxwyjbkn4b6cwg9', 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 'aex_01m8rsbnv4mrwtzam4203njytg', 1, 'live', 'boot_1', '', 'w', 'r', 'a', '2026-01-02T03:04:05.000000006Z', '');


--
-- Data for Name: boot_state; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.boot_state VALUES ('database_id', 'dbs_01m8rsbnq2c83t0v27t7hj2e7p');
INSERT INTO public.boot_state VALUES ('agent:x', '1');
INSERT INTO public.boot_state VALUES ('skill:x', '2');
INSERT INTO public.boot_state VALUES ('bootstrap_status', 'done');
INSERT INTO public.boot_state VALUES ('seedpack_version', '9');


--
-- Data for Name: budgets; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.budgets VALUES ('organization', 'default', 'month', 'default', 7, 0, '80', '2026-01-02T03:04:05.000000006Z', '', 0, 0, 0);


--
-- Data for Name: commit_slots; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.commit_slots VALUES ('slt_01m8rsbnqf5166kvtg2szfy0r6', 28, '2026-12-01 12:30:33.429184+00');


--
-- Data for Name: dispatches; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.dispatches VALUES ('aex_01m8rsbnrkvaf542cv5hma88j1', 1, 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 'default', 'agt_1', '', 'settled', 7, 3, 0, 0, false, 0, 0, 0, '', '2026-01-02T03:04:05.000000006Z', '');
INSERT INTO public.dispatches VALUES ('aex_01m8rsbnv4mrwtzam4203njytg', 1, 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 'default', 'agt_1', '', 'settled', 7, 3, 0, 0, false, 0, 0, 0, '', '2026-01-02T03:04:05.000000006Z', '');


--
-- Data for Name: events; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.events VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 1, 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 1, 0, 'input.queued', '\x0a1e7365735f30316d387273626e726b766166353432637635667a386170386a10011801220c696e7075742e7175657565642a1e6165785f30316d387273626e726b766166353432637635686d6138386a3140014a0808a5ebdcca0610066a1e7365735f30316d387273626e726b766166353432637635667a386170386af2010512036f6e65');
INSERT INTO public.events VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 2, 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 2, 0, 'turn.queued', '\x0a1e7365735f30316d387273626e726b766166353432637635667a386170386a10021802220b7475726e2e7175657565642a1e6165785f30316d387273626e726b766166353432637635686d6138386a3140014a0808a5ebdcca0610066a1e7365735f30316d387273626e726b766166353432637635667a386170386ac20200');
INSERT INTO public.events VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 3, 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 3, 0, 'session.status.changed', '\x0a1e7365735f30316d387273626e726b766166353432637635667a386170386a10031803221673657373696f6e2e7374617475732e6368616e67656440014a0808a5ebdcca0610066a1e7365735f30316d387273626e726b766166353432637635667a386170386aaa01090a0772756e6e696e67');
INSERT INTO public.events VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 4, 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 4, 0, 'turn.started', '\x0a1e7365735f30316d387273626e726b766166353432637635667a386170386a10041804220c7475726e2e737461727465642a1e6165785f30316d387273626e726b766166353432637635686d6138386a31321e6174745f30316d387273626e73653239637077657039626d356a7379656a380140014a0808a5ebdcca0610066a1e7365735f30316d387273626e726b766166353432637635667a386170386aca0200');
INSERT INTO public.events VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 5, 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 5, 0, 'turn.completed', '\x0a1e7365735f30316d387273626e726b766166353432637635667a386170386a10051805220e7475726e2e636f6d706c657465642a1e6165785f30316d387273626e726b766166353432637635686d6138386a31321e6174745f30316d387273626e73653239637077657039626d356a7379656a380140014a0808a5ebdcca0610066a1e7365735f30316d387273626e726b766166353432637635667a386170386ae202080a04080710031001');
INSERT INTO public.events VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 6, 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 6, 0, 'session.status.changed', '\x0a1e7365735f30316d387273626e726b766166353432637635667a386170386a10061806221673657373696f6e2e7374617475732e6368616e67656440014a0808a5ebdcca0610066a1e7365735f30316d387273626e726b766166353432637635667a386170386aaa01060a0469646c65');
INSERT INTO public.events VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 7, 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 7, 0, 'input.queued', '\x0a1e7365735f30316d387273626e726b766166353432637635667a386170386a10071807220c696e7075742e7175657565642a1e6165785f30316d387273626e76346d7277747a616d343230336e6a79746740014a0808a5ebdcca0610066a1e7365735f30316d387273626e726b766166353432637635667a386170386af20105120374776f');
INSERT INTO public.events VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 8, 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 8, 0, 'turn.queued', '\x0a1e7365735f30316d387273626e726b766166353432637635667a386170386a10081808220b7475726e2e7175657565642a1e6165785f30316d387273626e76346d7277747a616d343230336e6a79746740014a0808a5ebdcca0610066a1e7365735f30316d387273626e726b766166353432637635667a386170386ac20200');
INSERT INTO public.events VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 9, 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 9, 0, 'session.status.changed', '\x0a1e7365735f30316d387273626e726b766166353432637635667a386170386a10091809221673657373696f6e2e7374617475732e6368616e67656440014a0808a5ebdcca0610066a1e7365735f30316d387273626e726b766166353432637635667a386170386aaa01090a0772756e6e696e67');
INSERT INTO public.events VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 10, 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 10, 0, 'turn.started', '\x0a1e7365735f30316d387273626e726b766166353432637635667a386170386a100a180a220c7475726e2e737461727465642a1e6165785f30316d387273626e76346d7277747a616d343230336e6a797467321e6174745f30316d387273626e766439667877796a626b6e34623663776739380140014a0808a5ebdcca0610066a1e7365735f30316d387273626e726b766166353432637635667a386170386aca0200');
INSERT INTO public.events VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 11, 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 11, 0, 'agent.tool.started', '\x0a1e7365735f30316d387273626e726b766166353432637635667a386170386a100b180b22126167656e742e746f6f6c2e737461727465642a1e6165785f30316d387273626e76346d7277747a616d343230336e6a797467321e6174745f30316d387273626e766439667877796a626b6e34623663776739380140014a0808a5ebdcca0610066a1e7365735f30316d387273626e726b766166353432637635667a386170386a8204040a026331');
INSERT INTO public.events VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 12, 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 12, 0, 'agent.tool.completed', '\x0a1e7365735f30316d387273626e726b766166353432637635667a386170386a100c180c22146167656e742e746f6f6c2e636f6d706c657465642a1e6165785f30316d387273626e76346d7277747a616d343230336e6a797467321e6174745f30316d387273626e766439667877796a626b6e34623663776739380140014a0808a5ebdcca0610066a1e7365735f30316d387273626e726b766166353432637635667a386170386a9204040a026331');
INSERT INTO public.events VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 13, 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 13, 0, 'input.queued', '\x0a1e7365735f30316d387273626e726b766166353432637635667a386170386a100d180d220c696e7075742e7175657565642a1e6165785f30316d387273626e77646b73636b77687868627234396467777840014a0808a5ebdcca0610066a1e7365735f30316d387273626e726b766166353432637635667a386170386af2010712057468726565');
INSERT INTO public.events VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 14, 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 14, 0, 'turn.queued', '\x0a1e7365735f30316d387273626e726b766166353432637635667a386170386a100e180e220b7475726e2e7175657565642a1e6165785f30316d387273626e77646b73636b77687868627234396467777840014a0808a5ebdcca0610066a1e7365735f30316d387273626e726b766166353432637635667a386170386ac20200');


--
-- Data for Name: executions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.executions VALUES ('aex_01m8rsbnrkvaf542cv5hma88j1', 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 1, 'completed', 1, 'att_01m8rsbnse29cpwep9bm5jsyej', 'inp_01m8rsbnrnftqpzz4pfvhv2qb7', '\x0a050a036f6e65', '\x0a0666616b652f6d', false, '', '', 1, 0, 7, 3, 0, 0, false, 0, 0, 0, false, 0, '2026-01-02T03:04:05.000000006Z', 0, 0, '', '');
INSERT INTO public.executions VALUES ('aex_01m8rsbnv4mrwtzam4203njytg', 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 2, 'running', 1, 'att_01m8rsbnvd9fxwyjbkn4b6cwg9', 'inp_01m8rsbnv4mrwtzam420hejpzf', '\x0a050a0374776f', '\x0a0666616b652f6d2a04726561642a04656469742a057368656c6c', false, '', '', 1, 1, 7, 3, 0, 0, false, 0, 0, 0, false, 0, '2026-01-02T03:04:05.000000006Z', 0, 0, '', '');
INSERT INTO public.executions VALUES ('aex_01m8rsbnwdksckwhxhbr49dgwx', 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 3, 'queued', 0, '', 'inp_01m8rsbnwdksckwhxhbtxk0j32', '\x0a070a057468726565', NULL, false, '', '', 0, 0, 0, 0, 0, 0, false, 0, 0, 0, false, 0, '', 0, 0, '', '');


--
-- Data for Name: goals; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: history; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.history VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 1, 'aex_01m8rsbnrkvaf542cv5hma88j1', '\x0a050a036f6e65');
INSERT INTO public.history VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 2, 'aex_01m8rsbnrkvaf542cv5hma88j1', '\x1a060a040a02686d');
INSERT INTO public.history VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 3, 'aex_01m8rsbnv4mrwtzam4203njytg', '\x0a050a0374776f');
INSERT INTO public.history VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 4, 'aex_01m8rsbnv4mrwtzam4203njytg', '\x1a180a040a02686d0a101a0e0a0263311204656469741a027b7d');
INSERT INTO public.history VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 5, 'aex_01m8rsbnv4mrwtzam4203njytg', '\x22080a0263311a026f6b');


--
-- Data for Name: idempotency; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: leases; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.leases VALUES ('sweep', 'a', 1, '2026-01-02T03:05:05.000000006Z');


--
-- Data for Name: nodes; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: oauth_grant; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.oauth_grant VALUES ('ida_1', 'mcp_1', 'default', '\x7365616c6564', '', '2026-01-02T03:04:05.000000006Z');


--
-- Data for Name: outbox; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.outbox VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 3, '2026-01-02T03:04:05.000000006Z');


--
-- Data for Name: pending_oauth_state; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.pending_oauth_state VALUES ('state', '\x7665726966696572', '2026-01-02T03:14:05.000000006Z');


--
-- Data for Name: resource_labels; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.resource_labels VALUES ('agent', 'agt_01kbdd6qg0000000000000000a', 'team', 'docs');


--
-- Data for Name: resources; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.resources VALUES ('agent', 'agt_01kbdd6qg0000000000000000a', 'default', 'writer', 'writer', 'org', 2, '2026-01-02T03:04:05.000000006Z', '2026-01-02T03:04:05.000000006Z', '', '', '', '', '\x0a146167656e7469632e63616472652e6465762f763112054167656e741a3f0a1e6167745f30316d387273626e716334717a337a68727261747a3572357873120764656661756c741a06777269746572320c0a047465616d1204646f63732210120657726974652e1a0666616b652f6d8ac413126f662061206c617465722072656c65617365');
INSERT INTO public.resources VALUES ('agent_execution', 'aex_01m8rsbnrkvaf542cv5hma88j1', 'default', '', '', '', 1, '2026-01-02T03:04:05.000000006Z', '2026-01-02T03:04:05.000000006Z', 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 'completed', 'agt_1', '', '\x1a290a1e6165785f30316d387273626e726b766166353432637635686d6138386a31120764656661756c74222f0a1e7365735f30316d387273626e726b766166353432637635667a386170386a12056167745f311a0666616b652f6d2a40080510011a1e6174745f30316d387273626e73653239637077657039626d356a7379656a32040807100338014a0808a5ebdcca061006520808a5ebdcca061006');
INSERT INTO public.resources VALUES ('session', 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 'default', '', '', '', 1, '2026-01-02T03:04:05.000000006Z', '2026-01-02T03:04:05.000000006Z', 'running', '', '', '', '\x1a290a1e7365735f30316d387273626e726b766166353432637635667a386170386a120764656661756c7422030a01612a220802121e6165785f30316d387273626e76346d7277747a616d343230336e6a797467');
INSERT INTO public.resources VALUES ('agent_execution', 'aex_01m8rsbnv4mrwtzam4203njytg', 'default', '', '', '', 1, '2026-01-02T03:04:05.000000006Z', '2026-01-02T03:04:05.000000006Z', 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 'running', 'agt_1', '', '\x1a290a1e6165785f30316d387273626e76346d7277747a616d343230336e6a797467120764656661756c74222f0a1e7365735f30316d387273626e726b766166353432637635667a386170386a12056167745f311a0666616b652f6d2a30080210011a1e6174745f30316d387273626e766439667877796a626b6e3462366377673932004a0808a5ebdcca061006');
INSERT INTO public.resources VALUES ('agent_execution', 'aex_01m8rsbnwdksckwhxhbr49dgwx', 'default', '', '', '', 1, '2026-01-02T03:04:05.000000006Z', '2026-01-02T03:04:05.000000006Z', 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 'queued', 'agt_1', '', '\x1a290a1e6165785f30316d387273626e77646b73636b776878686272343964677778120764656661756c74222f0a1e7365735f30316d387273626e726b766166353432637635667a386170386a12056167745f311a0666616b652f6d2a020801');


--
-- Data for Name: sandbox_holders; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: sandboxes; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: schedule_runs; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.schedule_runs VALUES ('sch_1', 'run1', 'default', '2026-01-02T04:04:05.000000006Z', 'completed', '', '', '2026-01-02T04:04:05.000000006Z');
INSERT INTO public.schedule_runs VALUES ('sch_1', 'run2', 'default', '2026-01-02T05:04:05.000000006Z', 'started', '', '', '2026-01-02T05:04:05.000000006Z');


--
-- Data for Name: schema_version; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.schema_version VALUES (1, 0, true, '2026-12-01 12:30:32.756808');
INSERT INTO public.schema_version VALUES (2, 1, true, '2026-12-01 12:30:32.787944');
INSERT INTO public.schema_version VALUES (3, 2, true, '2026-12-01 12:30:33.06659');
INSERT INTO public.schema_version VALUES (4, 3, true, '2026-12-01 12:30:33.072855');
INSERT INTO public.schema_version VALUES (5, 4, true, '2026-12-01 12:30:33.079912');
INSERT INTO public.schema_version VALUES (6, 5, true, '2026-12-01 12:30:33.084847');
INSERT INTO public.schema_version VALUES (7, 6, true, '2026-12-01 12:30:33.088853');
INSERT INTO public.schema_version VALUES (8, 7, true, '2026-12-01 12:30:33.102662');
INSERT INTO public.schema_version VALUES (9, 8, true, '2026-12-01 12:30:33.109312');
INSERT INTO public.schema_version VALUES (10, 9, true, '2026-12-01 12:30:33.176707');


--
-- Data for Name: search_counts; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: search_dirty; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.search_dirty VALUES ('agent', 'agt_01kbdd6qg0000000000000000a', 5733368367360432364, 0);
INSERT INTO public.search_dirty VALUES ('session', 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 4739090978066763513, 0);
INSERT INTO public.search_dirty VALUES ('agent_execution', 'aex_01m8rsbnrkvaf542cv5hma88j1', 677121636074702155, 0);
INSERT INTO public.search_dirty VALUES ('agent_execution', 'aex_01m8rsbnv4mrwtzam4203njytg', 7211689902731196524, 0);
INSERT INTO public.search_dirty VALUES ('agent_execution', 'aex_01m8rsbnwdksckwhxhbr49dgwx', 8600101760664466593, 0);


--
-- Data for Name: search_documents_a; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: search_documents_b; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: search_postings_a; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: search_postings_b; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: search_state; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.search_state VALUES (1, 1, '', 0, '', '');


--
-- Data for Name: search_texts_a; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: search_texts_b; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: sessions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.sessions VALUES ('ses_01m8rsbnrkvaf542cv5fz8ap8j', 'default', 'ses_01m8rsbnrkvaf542cv5fz8ap8j', 0, '', false, 14, 14, 5, 3, 3, 'aex_01m8rsbnv4mrwtzam4203njytg', 2, 0, 0, 0, 0, 0, 10, 4);


--
-- Data for Name: signal_dedupe; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.signal_dedupe VALUES ('default:k', 'c1', true, 'aex_1', '2026-01-03T03:04:05.000000006Z');


--
-- Data for Name: timers; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: tool_calls; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tool_calls VALUES ('aex_01m8rsbnv4mrwtzam4203njytg', 'c1', 1, 1, 'finished', 'pure', '\x0a0263311204656469741a027b7d', NULL);


--
-- Data for Name: version_history; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.version_history VALUES ('agent', 'agt_01kbdd6qg0000000000000000a', 1, 'a4364cb7fc9b110995f729617e3d7539fb783237fe83dcf2d96927e1e54c34c5', '\x0a146167656e7469632e63616472652e6465762f763112054167656e741a3f0a1e6167745f30316d387273626e716334717a337a68727261747a3572357873120764656661756c741a06777269746572320c0a047465616d1204646f63732210120657726974652e1a0666616b652f6d8ac413126f662061206c617465722072656c65617365', '2026-01-02T03:04:05.000000006Z');
INSERT INTO public.version_history VALUES ('agent', 'agt_01kbdd6qg0000000000000000a', 2, 'a4364cb7fc9b110995f729617e3d7539fb783237fe83dcf2d96927e1e54c34c5', '\x0a146167656e7469632e63616472652e6465762f763112054167656e741a3f0a1e6167745f30316d387273626e716334717a337a68727261747a3572357873120764656661756c741a06777269746572320c0a047465616d1204646f63732210120657726974652e1a0666616b652f6d8ac413126f662061206c617465722072656c65617365', '2026-01-02T03:04:05.000000006Z');


--
-- Data for Name: version_tags; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.version_tags VALUES ('agent', 'agt_01kbdd6qg0000000000000000a', 'stable', 2);


--
-- Data for Name: workflow_execution_events; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.workflow_execution_events VALUES ('wex_1', 1, 'task.completed', 't1', '\x00206576656e74203120ff', '2026-01-02T03:05:05.000000006Z');
INSERT INTO public.workflow_execution_events VALUES ('wex_1', 2, 'task.started', 't2', '\x00206576656e74203220ff', '2026-01-02T03:06:05.000000006Z');


--
-- Name: schema_version_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.schema_version_id_seq', 10, true);


--
-- Name: attempts attempts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (id);


--
-- Name: boot_state boot_state_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.boot_state
    ADD CONSTRAINT boot_state_pkey PRIMARY KEY (key);


--
-- Name: budgets budgets_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.budgets
    ADD CONSTRAINT budgets_pkey PRIMARY KEY (scope, scope_id, period);


--
-- Name: commit_slots commit_slots_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.commit_slots
    ADD CONSTRAINT commit_slots_pkey PRIMARY KEY (slot);


--
-- Name: dispatches dispatches_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.dispatches
    ADD CONSTRAINT dispatches_pkey PRIMARY KEY (execution, number);


--
-- Name: events events_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (session, seq);


--
-- Name: executions executions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.executions
    ADD CONSTRAINT executions_pkey PRIMARY KEY (id);


--
-- Name: goals goals_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.goals
    ADD CONSTRAINT goals_pkey PRIMARY KEY (session);


--
-- Name: history history_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.history
    ADD CONSTRAINT history_pkey PRIMARY KEY (session, "position");


--
-- Name: idempotency idempotency_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (scope);


--
-- Name: leases leases_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (name);


--
-- Name: nodes nodes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (id);


--
-- Name: oauth_grant oauth_grant_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.oauth_grant
    ADD CONSTRAINT oauth_grant_pkey PRIMARY KEY (identity_id, resource_id, org_id);


--
-- Name: outbox outbox_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (session);


--
-- Name: pending_oauth_state pending_oauth_state_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pending_oauth_state
    ADD CONSTRAINT pending_oauth_state_pkey PRIMARY KEY (state);


--
-- Name: resource_labels resource_labels_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.resource_labels
    ADD CONSTRAINT resource_labels_pkey PRIMARY KEY (kind, id, key);


--
-- Name: resources resources_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.resources
    ADD CONSTRAINT resources_pkey PRIMARY KEY (kind, id);


--
-- Name: sandbox_holders sandbox_holders_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sandbox_holders
    ADD CONSTRAINT sandbox_holders_pkey PRIMARY KEY (scope, id, holder);


--
-- Name: sandboxes sandboxes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sandboxes
    ADD CONSTRAINT sandboxes_pkey PRIMARY KEY (scope, id);


--
-- Name: schedule_runs schedule_runs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schedule_runs
    ADD CONSTRAINT schedule_runs_pkey PRIMARY KEY (schedule, id);


--
-- Name: schema_version schema_version_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (id);


--
-- Name: search_counts search_counts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_counts
    ADD CONSTRAINT search_counts_pkey PRIMARY KEY (slot, org, kind, public);


--
-- Name: search_dirty search_dirty_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_dirty
    ADD CONSTRAINT search_dirty_pkey PRIMARY KEY (kind, id);


--
-- Name: search_documents_a search_documents_a_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_documents_a
    ADD CONSTRAINT search_documents_a_pkey PRIMARY KEY (docid);


--
-- Name: search_documents_b search_documents_b_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_documents_b
    ADD CONSTRAINT search_documents_b_pkey PRIMARY KEY (docid);


--
-- Name: search_postings_a search_postings_a_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_postings_a
    ADD CONSTRAINT search_postings_a_pkey PRIMARY KEY (list, low);


--
-- Name: search_postings_b search_postings_b_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_postings_b
    ADD CONSTRAINT search_postings_b_pkey PRIMARY KEY (list, low);


--
-- Name: search_state search_state_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_state
    ADD CONSTRAINT search_state_pkey PRIMARY KEY (id);


--
-- Name: search_texts_a search_texts_a_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_texts_a
    ADD CONSTRAINT search_texts_a_pkey PRIMARY KEY (docid);


--
-- Name: search_texts_b search_texts_b_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_texts_b
    ADD CONSTRAINT search_texts_b_pkey PRIMARY KEY (docid);


--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);


--
-- Name: signal_dedupe signal_dedupe_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.signal_dedupe
    ADD CONSTRAINT signal_dedupe_pkey PRIMARY KEY (id);


--
-- Name: timers timers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.timers
    ADD CONSTRAINT timers_pkey PRIMARY KEY (session, name);


--
-- Name: tool_calls tool_calls_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tool_calls
    ADD CONSTRAINT tool_calls_pkey PRIMARY KEY (execution, call_id);


--
-- Name: version_history version_history_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.version_history
    ADD CONSTRAINT version_history_pkey PRIMARY KEY (kind, resource_id, number);


--
-- Name: version_tags version_tags_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.version_tags
    ADD CONSTRAINT version_tags_pkey PRIMARY KEY (kind, resource_id, tag);


--
-- Name: workflow_execution_events workflow_execution_events_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.workflow_execution_events
    ADD CONSTRAINT workflow_execution_events_pkey PRIMARY KEY (execution, seq);


--
-- Name: attempts_execution; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX attempts_execution ON public.attempts USING btree (execution);


--
-- Name: attempts_live; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX attempts_live ON public.attempts USING btree (session) WHERE (state = 'live'::text);


--
-- Name: budgets_org; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX budgets_org ON public.budgets USING btree (org, scope, scope_id, period);


--
-- Name: dispatches_agent; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX dispatches_agent ON public.dispatches USING btree (agent, at);


--
-- Name: dispatches_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX dispatches_at ON public.dispatches USING btree (org, at);


--
-- Name: dispatches_member; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX dispatches_member ON public.dispatches USING btree (member, at) WHERE (member <> ''::text);


--
-- Name: dispatches_open; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX dispatches_open ON public.dispatches USING btree (org) WHERE (state = 'dispatched'::text);


--
-- Name: dispatches_session; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX dispatches_session ON public.dispatches USING btree (session);


--
-- Name: events_tree; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX events_tree ON public.events USING btree (root, tree_seq);


--
-- Name: executions_queue; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX executions_queue ON public.executions USING btree (session, "position");


--
-- Name: idempotency_expires; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX idempotency_expires ON public.idempotency USING btree (expires_at);


--
-- Name: idx_oauth_grant_resource; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX idx_oauth_grant_resource ON public.oauth_grant USING btree (resource_id, org_id);


--
-- Name: idx_wfee_created_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX idx_wfee_created_at ON public.workflow_execution_events USING btree (created_at);


--
-- Name: pending_oauth_state_expires; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX pending_oauth_state_expires ON public.pending_oauth_state USING btree (expires_at);


--
-- Name: resource_labels_value; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX resource_labels_value ON public.resource_labels USING btree (kind, key, value);


--
-- Name: resources_created; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX resources_created ON public.resources USING btree (kind, org, created_at, id);


--
-- Name: resources_i1; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX resources_i1 ON public.resources USING btree (kind, org, i1, created_at, id);


--
-- Name: resources_i2; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX resources_i2 ON public.resources USING btree (kind, org, i2, created_at, id);


--
-- Name: resources_slug; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX resources_slug ON public.resources USING btree (kind, org, slug) WHERE (slug <> ''::text);


--
-- Name: schedule_runs_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX schedule_runs_due ON public.schedule_runs USING btree (schedule, due_at, id);


--
-- Name: schedule_runs_updated; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX schedule_runs_updated ON public.schedule_runs USING btree (updated_at);


--
-- Name: search_dirty_order; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX search_dirty_order ON public.search_dirty USING btree (bulk, kind, id);


--
-- Name: search_documents_a_key; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX search_documents_a_key ON public.search_documents_a USING btree (kind, id);


--
-- Name: search_documents_b_key; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX search_documents_b_key ON public.search_documents_b USING btree (kind, id);


--
-- Name: sessions_open; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_open ON public.sessions USING btree (id) WHERE (open > 0);


--
-- Name: signal_dedupe_expires; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX signal_dedupe_expires ON public.signal_dedupe USING btree (expires_at);


--
-- Name: timers_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX timers_due ON public.timers USING btree (due_at);


--
-- Name: version_history_hash; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX version_history_hash ON public.version_history USING btree (kind, resource_id, hash, number);


--
-- PostgreSQL database dump complete
--


